// Package atonce does several things at a time.
package atonce

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Each calls f with every number from 0 to n-1, at most so many at a time, each in a goroutine of its own, and answers
// when all have ended. A panic of one is its caller's, once the others have ended: whoever called is sheltered, as the
// requests of the interface and jobs are, and a goroutine is not: there it would end the process for everybody.
func Each(n, atMost int, f func(i int)) {
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		fault any
	)
	slots := make(chan struct{}, atMost)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					mu.Lock()
					fault = fmt.Errorf("%v\n\n%s", v, debug.Stack())
					mu.Unlock()
				}
				<-slots
			}()
			f(i)
		})
	}
	all.Wait()
	if fault != nil {
		panic(fault)
	}
}
