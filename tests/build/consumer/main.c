/* What a program of a user looks like: it links, and the library is the one of the header. */
#include <hone/hone.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", HONE_VERSION_MAJOR, HONE_VERSION_MINOR,
             HONE_VERSION_PATCH);
    printf("hone %s\n", hone_version());
    return strcmp(hone_version(), expected) == 0 ? 0 : 1;
}
