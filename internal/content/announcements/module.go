package announcements

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "announcements", Routes: append(s.operations(), s.staff()...), Workers: s.register, Schedule: schedule, OnClose: s.closed,
		Needs: []any{s.Config, s.Needs}, NoExport: "announcements are the company's; those that somebody was told of are notifications",
	}
}
