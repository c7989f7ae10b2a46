/* Maps element types between ONNX numbers and formats of the struct module. */
#include "py_core.h"

#include <string.h>

typedef struct elem_format {
    const char *format;
    int32_t elem_type;
} elem_format;

/* Exported buffers use the first format of a type. `l` is missing on purpose: it has the size of
 * the machine's long, and integers are distinguished by size. */
static const elem_format elem_formats[] = {
    {"f", 1},  {"B", 2},  {"b", 3},  {"H", 4},  {"h", 5},  {"i", 6},   {"q", 7},
    {"?", 9},  {"e", 10}, {"d", 11}, {"I", 12}, {"Q", 13}, {"Zf", 14}, {"Zd", 15},
    {"H", 16}, {"B", 17}, {"B", 18}, {"B", 19}, {"B", 20}, {"B", 24},
};

const char *hnpy_format_of(int32_t elem_type) {
    for (size_t i = 0; i < sizeof elem_formats / sizeof *elem_formats; i++)
        if (elem_formats[i].elem_type == elem_type)
            return elem_formats[i].format;
    return "";
}

static bool is_native_order(char mark) {
    const union {
        uint16_t number;
        unsigned char first_byte;
    } probe = {1};
    return mark == '=' || mark == '@' || (mark == '<' && probe.first_byte == 1) ||
           (mark == '>' && probe.first_byte == 0);
}

int32_t hnpy_elem_type_of(const char *format, Py_ssize_t itemsize) {
    if (!format)
        format = "B";
    if (*format && strchr("=@<>!", *format)) {
        if (!is_native_order(*format) && itemsize > 1)
            return 0;
        format++;
    }
    if (strcmp(format, "l") == 0)
        return itemsize == 8 ? 7 : 6;
    if (strcmp(format, "L") == 0)
        return itemsize == 8 ? 13 : 12;
    for (size_t i = 0; i < sizeof elem_formats / sizeof *elem_formats; i++)
        if (strcmp(elem_formats[i].format, format) == 0)
            return elem_formats[i].elem_type;
    return 0;
}
