/*
 * stand_in: what this program does when it is called by a launcher's name while
 * a script is being recorded: it notes the call in the record and starts at
 * most what the launcher would have started of shells and scripts. Without the
 * variable below a name means nothing.
 *
 * Environment, set by a session: where the record is (beside its folder bin/ of
 * stand-ins), the folder of the script; between stand-ins: the launchers that
 * stand in front of a call, and the sizes of its job.
 */
#ifndef RECORD_STAND_IN_H
#define RECORD_STAND_IN_H

#include <stdbool.h>

#define STAND_IN_RECORD "MOE_LAYOUT_RECORD"
#define STAND_IN_FOLDER "MOE_LAYOUT_RECORD_FOLDER"
#define STAND_IN_OUTER "MOE_LAYOUT_RECORD_OUTER"
#define STAND_IN_JOB "MOE_LAYOUT_RECORD_JOB"

// of the record's file: from the start, and once a call could not be noted
enum { STAND_IN_MODE = 0600, STAND_IN_MODE_CUT = 0700 };

/* Is a script being recorded (is argv[0] then the name of a stand-in)? */
bool stand_in_recording(void);
bool stand_in_is_called(const char *argv0);

/* Acts as the launcher: returns its exit status, or becomes the program that it
 * would start. A call that cannot be noted is said on standard error and in the
 * record's mode. */
int stand_in_main(int argc, char *const *argv);

#endif
