// Package cron runs commands of the machine's accounts at their times, as their users.
//
// What holds:
//
//   - The next run of every job stands in a heap, so looking what is due costs nothing while nothing
//     is, however many jobs there are.
//   - The minute whose runs begin is on disk before the first of them does. An agent that is killed and
//     started anew begins no minute a second time: a run takes place once or, when the agent ended
//     within that minute, not at all. Runs that were missed are not made up for.
//   - A run that goes on when the agent is killed is ended by the next one, by its process id and the
//     time at which it started.
//   - What a run writes is kept up to a bound; more is read and thrown away, so that no job hangs.
//   - An account has a bounded number of runs at once, whatever its jobs are.
//   - The clock: see panel.Schedule.Next for summer time. When the clock is put forward by more than
//     two minutes the runs in between are missed; when it is put back by less, nothing runs until it
//     has caught up, by more, it counts anew from there.
package cron
