/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef STEADY_H
#define STEADY_H

void fix_layout(char **argv);
void stay_ahead_on_one_cpu(void);

#endif /* STEADY_H */
