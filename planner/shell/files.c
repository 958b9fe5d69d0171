/*
 * How it works: only plain files in the script's own folder are read, by their
 * real names, so that a script that somebody else wrote cannot make us read
 * anything of the user's. Each is read and parsed once for all ways. What the
 * script writes stays in the state, as a variable: nothing is ever written to
 * the disk.
 */
#define _XOPEN_SOURCE 700 // realpath()
#include "files.h"

#include "script/parse.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Line ends of Windows go, and bytes that we use as marks of what is not known
 * cannot come from a file. */
void bash_clean(char *text)
{
    char *to = text;
    for (const char *p = text; *p; p++) {
        if (*p == '\r' && p[1] == '\n')
            continue;
        *to++ = *p > '\0' && *p <= '\x05' ? '?' : *p;
    }
    *to = '\0';
}

/* ---- names ---- */

/* By the names alone, as `cd -L` does: links are not followed. */
const char *bash_path(struct bash *sh, const char *path)
{
    const char *cwd = bash_get_text(sh, BASH_FOLDER);
    const char *all =
        *path == '/' ? path : bash_printf(sh, "%s/%s", cwd ? cwd : "", path);
    struct bash_text t = {0};
    bash_putc(sh, &t, '/');
    while (*all) {
        size_t n = strcspn(all, "/");
        bool up = n == 2 && strncmp(all, "..", 2) == 0;
        if (up) {
            while (t.n > 1 && t.s[--t.n] != '/')
                ;
            t.s[t.n] = '\0';
            if (!t.n)
                bash_putc(sh, &t, '/');
        } else if (n && !(n == 1 && *all == '.')) {
            if (t.n > 1)
                bash_putc(sh, &t, '/');
            bash_put(sh, &t, all, n);
        }
        all += n + (all[n] == '/');
    }
    return bash_text_of(&t);
}

/* The part of an absolute name below the script's folder, or NULL. */
static const char *path_below(struct bash *sh, const char *path)
{
    const char *home = bash_home_folder(sh);
    size_t n = home ? strlen(home) : 0;
    if (!home || strncmp(path, home, n) != 0)
        return NULL;
    if (path[n] == '\0')
        return path + n;
    return path[n] == '/' ? path + n + 1 : NULL;
}

const char *bash_path_shown(struct bash *sh, const char *path)
{
    const char *below = path_below(sh, bash_path(sh, path));
    return below && *below ? below : path;
}

/* Files that the script writes are variables of the state, so that branches
 * merge them. */
static const char *file_variable(struct bash *sh, const char *path)
{
    return bash_printf(sh, "%s%s", BASH_FILE_PREFIX, bash_path(sh, path));
}

/* ---- looking ---- */

/* The folder and the name itself must not lead out of the script's folder by
 * links. */
static bool file_is_inside(struct bash *sh, const char *path)
{
    const char *home = bash_home_folder(sh);
    char *real = realpath(path, NULL);
    size_t n = strlen(home);
    bool inside = real && strncmp(real, home, n) == 0 &&
                  (real[n] == '/' || real[n] == '\0');
    free(real);
    return inside;
}

/* A link that leads out of the folder is not looked at. */
static enum bash_file_kind look_outside(struct bash *sh, const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return BASH_FILE_NONE;
    if (!file_is_inside(sh, path) || stat(path, &st) != 0)
        return BASH_FILE_UNKNOWN;
    if (S_ISDIR(st.st_mode))
        return BASH_FILE_FOLDER;
    if (!S_ISREG(st.st_mode))
        return BASH_FILE_UNKNOWN;
    return st.st_size ? BASH_FILE_REGULAR : BASH_FILE_EMPTY;
}

/* What the script made itself comes before what is on the disk. */
enum bash_file_kind bash_file_look(struct bash *sh, const char *path)
{
    if (bash_has_unknown(sh, path))
        return BASH_FILE_UNKNOWN;
    const struct bash_var *made = bash_get(sh, file_variable(sh, path));
    const char *full = bash_path(sh, path);
    if (made)
        return made->n && *made->item[0].text ? BASH_FILE_REGULAR
                                              : BASH_FILE_EMPTY;
    if (bash_has_mark(full) || !path_below(sh, full))
        return BASH_FILE_UNKNOWN;
    return look_outside(sh, full);
}

/* ---- reading ---- */

/* Bytes of an open regular file; NULL where it is none or too large. */
static char *read_bytes(struct bash *sh, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size > BASH_MAX_FILE_BYTES)
        return NULL;
    size_t size = (size_t)st.st_size, n = 0;
    char *text = bash_keep(sh, size + 1, 1);
    ssize_t got = 1;
    while (n < size && got > 0) {
        got = read(fd, text + n, size - n);
        n += got > 0 ? (size_t)got : 0;
    }
    if (memchr(text, '\0', n))
        return NULL; // no text
    bash_clean(text);
    return text;
}

/* Opened by its real name without following links, so that none that is
 * swapped in meanwhile leads outside. */
static const char *read_file(struct bash *sh, const char *path)
{
    if (!file_is_inside(sh, path))
        return NULL;
    if (++sh->n_files > BASH_MAX_FILES)
        bash_fail(sh, ERR_RANGE, "more than %d files to read", BASH_MAX_FILES);
    char *real = realpath(path, NULL);
    int fd =
        real ? open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;
    free(real);
    if (fd < 0)
        return NULL;
    struct stat st;
    bool fits = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                sh->kept_bytes + (size_t)st.st_size < BASH_MAX_BYTES;
    // what leaves by longjmp() would leave the descriptor open
    const char *text = fits ? read_bytes(sh, fd) : NULL;
    close(fd);
    return text;
}

/* A file read before in this reading, or now. */
static struct bash_file *file_of(struct bash *sh, const char *full)
{
    for (struct bash_file *f = sh->files; f; f = f->next)
        if (strcmp(f->path, full) == 0)
            return f;
    struct bash_file *f = bash_keep(sh, 1, sizeof *f);
    f->path = bash_keep_text(sh, full);
    f->text = read_file(sh, full);
    f->script.name = bash_keep_text(sh, bash_path_shown(sh, full));
    f->script.text = f->text;
    f->script.line = 1;
    f->next = sh->files;
    sh->files = f;
    return f;
}

/* Text that the script made under this name, or NULL. */
static const char *made_text(struct bash *sh, const char *path)
{
    return bash_get_text(sh, file_variable(sh, path));
}

/* What the script wrote itself comes first, as for every look at a file. */
const char *bash_file_text(struct bash *sh, const char *path)
{
    enum bash_file_kind kind = bash_file_look(sh, path);
    const char *made = bash_has_unknown(sh, path) ? NULL : made_text(sh, path);
    if (made)
        return made;
    if (kind != BASH_FILE_REGULAR && kind != BASH_FILE_EMPTY)
        return NULL;
    return file_of(sh, bash_path(sh, path))->text;
}

struct bash_script *bash_text_script(struct bash *sh, const char *name,
                                     const char *text, int line)
{
    struct bash_script *s = bash_alloc(sh, 1, sizeof *s);
    s->name = name;
    s->text = text;
    s->line = line;
    return s;
}

/* A file on the disk keeps its parsed lines; one that the script made may be
 * another one the next time. */
struct bash_script *bash_file_script(struct bash *sh, const char *path)
{
    const char *text = bash_file_text(sh, path);
    if (!text)
        return NULL;
    if (made_text(sh, path))
        return bash_text_script(
            sh, bash_keep_text(sh, bash_path_shown(sh, path)), text, 1);
    return &file_of(sh, bash_path(sh, path))->script;
}

/* Nothing is written: the text is kept for a later source, cat or test. */
void bash_file_write(struct bash *sh, const char *path, const char *text,
                     bool append)
{
    const char *name = file_variable(sh, path);
    if (bash_has_unknown(sh, path) || strncmp(path, "/dev/", 5) == 0)
        return;
    if (append) {
        const char *old = bash_file_text(sh, path);
        text = bash_printf(sh, "%s%s", old ? old : "", text);
    }
    bash_set(sh, name, text);
}
