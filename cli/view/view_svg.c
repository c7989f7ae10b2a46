/* Pictures as SVG for documents: every graph with its layout, subgraphs and functions below.
 * Colours follow the reader's light or dark mode. */
#include "view/graph_view.h"

#include <string.h>

enum { MARGIN = 24, HEADING = 34 };

static const char svg_style[] =
    "<style>\n"
    "text{font:12px system-ui,sans-serif;text-anchor:middle;fill:#1b212b}\n"
    ".s{font-size:10px;fill:#566072}.h{font-size:15px;font-weight:600;text-anchor:start}\n"
    ".n{fill:#fff;stroke:#b9c1cd}.p{fill:#eef0f4;stroke:#b9c1cd}.o{stroke-dasharray:4 3}\n"
    ".e{fill:none;stroke:#a9b2c1}.b{fill:#f6f7f9}\n"
    "@media(prefers-color-scheme:dark){text{fill:#e7eaf0}.s{fill:#a3adbf}.b{fill:#12151b}\n"
    ".n{fill:#222834;stroke:#465064}.p{fill:#0d1015;stroke:#465064}.e{stroke:#55607a}}\n"
    "</style>\n";

/* Text in XML: control characters have no place there. */
static void put_xml(cli_buffer *out, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<' || c == '>' || c == '&' || c == '"')
            cli_buffer_printf(out, "&#%d;", c);
        else if (c < 0x20 || c == 0x7f)
            cli_buffer_printf(out, " ");
        else
            cli_buffer_add(out, text, 1);
    }
}

/* Cut at a character; a box has room for so many. */
static void put_fitting(cli_buffer *out, const char *text, double width, double per_char) {
    char some[VIEW_TEXT];
    size_t room = (size_t)((width - 14) / per_char), n = 0, chars = 0;
    for (; text[n] && n + 4 < sizeof some; n++) {
        chars += ((unsigned char)text[n] & 0xc0) != 0x80;
        if (chars > room)
            break;
        some[n] = text[n];
    }
    some[n] = '\0';
    put_xml(out, some);
    if (text[n])
        cli_buffer_printf(out, "\xe2\x80\xa6");
}

static double svg_rank_y(uint32_t rank) {
    return (double)rank * (VIEW_BOX_HEIGHT + VIEW_RANK_GAP);
}

static void put_curve(cli_buffer *out, double x1, double y1, double x2, double y2) {
    double middle = (y1 + y2) / 2;
    if (x1 == x2)
        cli_buffer_printf(out, "M%.1f %.1fV%.1f", x1, y1, y2);
    else
        cli_buffer_printf(out, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x1, y1, x1, middle, x2,
                          middle, x2, y2);
}

static void put_svg_edges(const layout *l, cli_buffer *out) {
    cli_buffer_printf(out, "<path class=\"e\" d=\"");
    for (uint32_t i = 0; i < l->n_bends; i++) {
        const layout_bend *b = &l->bends[i];
        double x = b->before == LAYOUT_NONE ? l->boxes[b->from].x : l->bends[b->before].x;
        put_curve(out, x, svg_rank_y(b->rank - 1) + VIEW_BOX_HEIGHT, b->x, svg_rank_y(b->rank));
        cli_buffer_printf(out, "v%d", VIEW_BOX_HEIGHT);
    }
    for (uint32_t i = 0; i < l->n_edges; i++) {
        const layout_edge *e = &l->edges[i];
        const layout_box *to = &l->boxes[e->to];
        if (e->is_jump)
            continue;
        double x = e->last == LAYOUT_NONE ? l->boxes[e->from].x : l->bends[e->last].x;
        put_curve(out, x, svg_rank_y(to->rank - 1) + VIEW_BOX_HEIGHT, to->x, svg_rank_y(to->rank));
    }
    cli_buffer_printf(out, "\"/>\n");
}

static void put_svg_box(const view_model *v, const view_picture *p, uint32_t i, cli_buffer *out) {
    static const char *const classes[] = {"n", "p", "p", "p o"};
    const layout_box *b = &p->layout.boxes[i];
    char title[VIEW_TEXT], subtitle[VIEW_TEXT], name[VIEW_TEXT];
    double y = svg_rank_y(b->rank);
    const view_box *box = &p->boxes[i];
    view_box_texts(v, p, box, title, subtitle, sizeof title);
    cli_buffer_printf(out,
                      "<g><rect class=\"%s\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" "
                      "rx=\"%d\"/>",
                      classes[box->kind], b->x - b->width / 2, y, b->width, VIEW_BOX_HEIGHT,
                      box->kind == VIEW_NODE ? 6 : VIEW_BOX_HEIGHT / 2);
    cli_buffer_printf(out, "<text x=\"%.1f\" y=\"%.0f\">", b->x, y + (*subtitle ? 17 : 24));
    put_fitting(out, title, b->width, 6.6);
    cli_buffer_printf(out, "</text>");
    if (*subtitle) {
        cli_buffer_printf(out, "<text class=\"s\" x=\"%.1f\" y=\"%.0f\">", b->x, y + 31);
        put_fitting(out, subtitle, b->width, 5.4);
        cli_buffer_printf(out, "</text>");
    }
    if (box->kind == VIEW_NODE) {
        cli_buffer_printf(out, "<title>");
        put_xml(out, view_node_label(v->sources[p->source].graph, box->id, name, sizeof name));
        cli_buffer_printf(out, "</title>");
    }
    cli_buffer_printf(out, "</g>\n");
}

static double picture_height(const view_picture *p) {
    return HEADING + svg_rank_y(p->layout.n_ranks) + MARGIN;
}

static void put_svg_picture(const view_model *v, const view_picture *p, double y, cli_buffer *out) {
    const view_source *s = &v->sources[p->source];
    hone_subgraph_info info;
    char owner[VIEW_TEXT] = "";
    hone_graph_get_subgraph(s->graph, p->subgraph, &info);
    if (info.owner != HONE_NONE)
        view_node_label(s->graph, info.owner, owner, sizeof owner);
    cli_buffer_printf(out, "<g transform=\"translate(%d,%.0f)\"><text class=\"h\" y=\"14\">",
                      MARGIN, y);
    put_xml(out, p->source && !p->subgraph ? s->function.name : *info.name ? info.name : "graph");
    if (*owner) {
        cli_buffer_printf(out, " of ");
        put_xml(out, owner);
    }
    cli_buffer_printf(out, "</text><g transform=\"translate(0,%d)\">\n", HEADING);
    put_svg_edges(&p->layout, out);
    for (uint32_t i = 0; i < p->layout.n_boxes; i++)
        put_svg_box(v, p, i, out);
    cli_buffer_printf(out, "</g></g>\n");
}

/* A subgraph whose owner an edit removed is empty. */
static bool is_shown_picture(const view_picture *p) {
    return p->layout.n_boxes > 0;
}

void view_svg_print(const view_scene *s, cli_buffer *out) {
    double width = 400, height = 0, x = 0;
    for (uint32_t m = 0; m < s->n_models; m++) {
        double own_width = 400, own_height = MARGIN;
        for (uint32_t i = 0; i < s->models[m].n_pictures; i++) {
            const view_picture *p = &s->models[m].pictures[i];
            own_height += is_shown_picture(p) ? picture_height(p) : 0;
            own_width = p->layout.width > own_width ? p->layout.width : own_width;
        }
        width = m ? width + own_width + 2 * MARGIN : own_width + 2 * MARGIN;
        height = own_height > height ? own_height : height;
    }
    cli_buffer_printf(out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                      "viewBox=\"0 0 %.0f %.0f\">\n%s<rect class=\"b\" width=\"100%%\" "
                      "height=\"100%%\"/>\n",
                      width, height, width, height, svg_style);
    for (uint32_t m = 0; m < s->n_models; m++) {
        double y = MARGIN, own_width = 400;
        cli_buffer_printf(out, "<g transform=\"translate(%.0f,0)\">\n", x);
        for (uint32_t i = 0; i < s->models[m].n_pictures; i++) {
            const view_picture *p = &s->models[m].pictures[i];
            if (!is_shown_picture(p))
                continue;
            put_svg_picture(&s->models[m], p, y, out);
            y += picture_height(p);
            own_width = p->layout.width > own_width ? p->layout.width : own_width;
        }
        cli_buffer_printf(out, "</g>\n");
        x += own_width + 2 * MARGIN;
    }
    cli_buffer_printf(out, "</svg>\n");
}
