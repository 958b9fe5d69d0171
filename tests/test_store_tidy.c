#include "store/tidy.h"

#include <criterion/criterion.h>

Test(tidy, only_names_of_our_making_are_temporary)
{
    static const char *const ours[] = {
        ".tmp-r01-pick-258063-496a0b43", ".tmp-r00-profile-4ccd60-496a0b43-a2",
        ".tmp-r12-count-based-1a8dfd-k", ".tmp-r100-standalone-mtp-547d08-00"};
    static const char *const others[] = {".tmp-mine",
                                         ".tmp-",
                                         ".tmp-r01-notes",
                                         ".tmp-r1-pick-258063-496a0b43",
                                         ".tmp-r01-pick-25806g-496a0b43",
                                         ".tmp-r01-258063-496a0b43",
                                         "tmp-r01-pick-258063-496a0b43",
                                         "r01-pick-258063-496a0b43",
                                         ".tmp-r01-pick-258063-496a0b431",
                                         ".tmp-r01-pick-258063-496a0b43-b2",
                                         ".tmp-r01-pick-258063-496a0b43~"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        cr_expect(tidy_is_temporary_run(ours[i]), "%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_expect_not(tidy_is_temporary_run(others[i]), "%s", others[i]);
}

Test(tidy, only_files_of_ours_are_half_written)
{
    static const char *const ours[] = {"runs.csv.tmp.1", "plan.json.tmp.43210",
                                       "job.sh.tmp.7"};
    static const char *const others[] = {"notes.tmp.1",         "runs.csv.tmp.",
                                         "runs.csv.tmp.1x",     "runs.csv.tmp",
                                         "my-runs.csv.tmp.1",   "runs.csv",
                                         "layouts.csv.tmp.old", ".tmp.1",
                                         "x.tmp.1.tmp.2"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        cr_expect(tidy_is_half_written(ours[i]), "%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_expect_not(tidy_is_half_written(others[i]), "%s", others[i]);
}
