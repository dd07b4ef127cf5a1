package files

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "files", Routes: s.Operations(),
		NoExport: "files are taken along by FTP, as an archive of a folder or as a backup",
	}
}
