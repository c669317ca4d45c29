#include "sandbox/filter.h"

static const char *const names[] = {
	[FILTER_AGENT] = "agent",
	[FILTER_FETCH] = "fetch",
	[FILTER_EGRESS] = "egress",
	[FILTER_FILES] = "files",
	[FILTER_WEB] = "web",
	[FILTER_COMMAND] = "command",
	[FILTER_COMMAND_TCP] = "command-tcp",
	[FILTER_COMMAND_UNIX] = "command-unix",
	[FILTER_COMMAND_NAMESPACE] = "command-namespace",
};
_Static_assert(N_ELEMENTS(names) == FILTER_N_, "name every variant");

const char *filter_name(enum filter_variant v)
{
	return (unsigned)v < FILTER_N_ ? names[v] : "unknown";
}
