/* Operands and attributes of a line `op ID OP SRC... KEY=VALUE...`. cases.c includes this file after the functions that it
 * calls. An absent attribute is 0, which stands for its default. The existing operations do not need every function here. */

/* The tensors that the line names, tl_none() for `none`, which must be this many. */
static inline int all_operands(const Run *run, char **words, int n, int most, tl_tensor **out) {
    int found = 0;
    for (int w = 3; w < n && !strchr(words[w], '='); w++) {
        if (found == most) bad_line(run, "an operand too many");
        out[found++] = strcmp(words[w], "none") == 0 ? tl_none() : find_slot(run, words[w])->tensor;
    }
    return found;
}

static inline void operands(const Run *run, char **words, int n, int wanted, tl_tensor **out) {
    if (all_operands(run, words, n, wanted, out) != wanted) bad_line(run, "an operand too few");
}

/* NULL where the attribute is absent. */
static inline const char *case_attr(char **words, int n, const char *key) {
    size_t length = strlen(key);
    for (int w = 3; w < n; w++)
        if (strncmp(words[w], key, length) == 0 && words[w][length] == '=') return words[w] + length + 1;
    return NULL;
}

static inline const char *case_text(const Run *run, char **words, int n, const char *key) {
    const char *value = case_attr(words, n, key);
    if (!value) bad_line(run, "an attribute is missing");
    return value;
}

static inline int64_t case_int(const Run *run, char **words, int n, const char *key) {
    const char *value = case_attr(words, n, key);
    return value ? to_int(run, value) : 0;
}

static inline double case_number(const Run *run, char **words, int n, const char *key) {
    const char *value = case_attr(words, n, key);
    return value ? to_number(run, value) : 0;
}

/* The integers of `key=1,2,3`, up to 6; returns their number, 0 where the attribute is absent. */
static inline int case_list(const Run *run, char **words, int n, const char *key, int64_t *out) {
    const char *at = case_attr(words, n, key);
    int count = 0;
    while (at) {
        char *end;
        if (count == 6) bad_line(run, "more than 6 values");
        out[count++] = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ',')) bad_line(run, "an attribute's integers were expected");
        at = *end ? end + 1 : NULL;
    }
    return count;
}

/* Reads exactly `length` integers; zeros where the attribute is absent. */
static inline void case_ints(const Run *run, char **words, int n, const char *key, int length, int64_t *out) {
    int64_t values[6] = {0};
    int count = case_list(run, words, n, key, values);
    if (count != 0 && count != length) bad_line(run, "another number of values was expected");
    for (int i = 0; i < length; i++) out[i] = values[i];
}

/* The dimensions of the attribute, a bit for each. */
static inline uint32_t case_dims(const Run *run, char **words, int n, const char *key) {
    int64_t values[6];
    int count = case_list(run, words, n, key, values);
    uint32_t set = 0;
    for (int i = 0; i < count; i++) {
        if (values[i] < 0 || values[i] > 31) bad_line(run, "a dimension was expected");
        set |= UINT32_C(1) << values[i];
    }
    return set;
}

/* The index of the attribute's word in `all`, whose words blanks separate; 0 where the attribute is absent. */
static inline int32_t case_choice(const Run *run, char **words, int n, const char *key, const char *all) {
    const char *value = case_attr(words, n, key);
    size_t length = value ? strlen(value) : 0;
    int32_t place = 0;
    for (const char *at = all; value && at; place++) {
        const char *end = strchr(at, ' ');
        size_t word = end ? (size_t)(end - at) : strlen(at);
        if (word == length && strncmp(at, value, length) == 0) return place;
        at = end ? end + 1 : NULL;
    }
    if (value) bad_line(run, "a word that is not one of the attribute's");
    return 0;
}
