/*
 * interlock-egress: started inside a command's network namespace with its listener (3),
 * its broker (4) and a pipe (5) that is told when it is confined and listens.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/egress.h"
#include "base/exit.h"
#include "sandbox/sandbox.h"

enum {
	LISTENER = 3,
	BROKER = 4,
	READY = 5
};

int main(void)
{
	static const int keep[] = { LISTENER, BROKER, READY };
	struct il_sandbox_config config = {
		.profile = IL_PROFILE_EGRESS, .keep_fds = keep, .n_keep_fds = 3
	};
	struct il_sandbox_plan *plan = NULL;
	struct il_sandbox_step_error error;
	struct diag diag;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
		il_sandbox_plan_config(&config, &plan, &diag) != 0 ||
		il_sandbox_apply_self(plan, &error) != 0)
		return EXIT_STATUS_UNCONFINED;
	(void)il_sandbox_plan_free(plan);
	if (write(READY, "\n", 1) != 1)
		return EXIT_STATUS_FAILED;
	(void)close(READY);
	return egress_run(LISTENER, BROKER) == 0 ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
