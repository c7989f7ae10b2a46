byId("main");
