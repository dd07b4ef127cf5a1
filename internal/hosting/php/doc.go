// Package php owns how the PHP programs of hosting services run: version, options and extensions, in the
// tables php_settings and php_panels (specification, section "Service management"; resources, section
// 22).
//
// A row of php_settings is what should be, and exists when something was set; see package site for its
// states. A change writes the row and a job in one commit; the job makes the panel as the row is.
//
// What holds:
//
//   - No option reaches a panel that is not among panel.PHPOptions or is out of its range. The plan's
//     memory bounds sizes further.
//   - A change does not ask the panel. What the panel offers was learned before (php_panels): at every
//     look at a service and every job. What a panel that nobody saw yet refuses becomes the row's
//     failure_key.
//   - A look asks the panel, and answers from what is known when it cannot be reached.
//
// Not promised: that options make sense together. What contradicts itself is told as conflicts.
package php
