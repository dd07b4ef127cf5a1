package admin

// Setting is a setting of the configuration of the process that answers.
type Setting struct {
	Name    string `json:"name" doc:"In the configuration's file."`
	Env     string `json:"env" doc:"Variable of the environment."`
	Value   string `json:"value" doc:"Of a secret only whether it is set: set or unset."`
	Default string `json:"default"`
	Source  string `json:"source" enum:"default,file,environment,command line"`
	Secret  bool   `json:"secret"`
	Meaning string `json:"meaning" doc:"In English."`
}

// ListSettings lists all settings of this process, without secrets.
func (a *Admin) ListSettings() []Setting {
	all := []Setting{}
	for _, d := range a.Settings {
		all = append(all, Setting{
			Name: d.Name, Env: d.Env, Value: d.Value, Default: d.Default, Source: string(d.Source), Secret: d.Secret, Meaning: d.Meaning,
		})
	}
	return all
}
