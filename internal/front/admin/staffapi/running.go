package staffapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/hosting/moves"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/page"
)

type servicesIn struct {
	page.Params
	Account int64  `query:"account_id" minimum:"1" doc:"Only those of this account."`
	Node    string `query:"node" maxLength:"100" doc:"Name of a hosting machine."`
	Status  string `query:"status" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled" doc:"Only services in this state."`
	// Attention is a kind of the dashboard.
	Attention string `query:"attention" enum:"services_provisioning,services_failed,renewals_failing,services_ending" doc:"Only those that the dashboard counts under this kind."`
}

type registeredDomainsIn struct {
	page.Params
	Account   int64  `query:"account_id" minimum:"1" doc:"Only those of this account."`
	Status    string `query:"status" enum:"pending_registration,pending_transfer_in,active,expired,grace,redemption,pending_delete,transferred_out,cancelled,failed" doc:"Only domains in this state."`
	Query     string `query:"q" maxLength:"200" doc:"A part of the name."`
	Attention string `query:"attention" enum:"domains_waiting" doc:"Only those that the dashboard counts under this kind: a registry has not decided for a quarter of an hour."`
}

type certificatesIn struct {
	page.Params
	Service   int64  `query:"service_id" minimum:"1" doc:"Only those of this service."`
	Attention string `query:"attention" enum:"certificates_failing" doc:"Only those that the dashboard counts under this kind: three orders in a row failed."`
}

type endpointsIn struct {
	page.Params
	Account   int64  `query:"account_id" minimum:"1" doc:"Only those of this account."`
	Attention string `query:"attention" enum:"webhooks_failing" doc:"Only those that the dashboard counts under this kind: active, and nothing arrives."`
}

type nodesIn struct {
	Attention string `query:"attention" enum:"nodes_silent" doc:"Only those that the dashboard counts under this kind."`
}

type serviceIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service."`
}

type serviceReasonIn struct {
	serviceIn
	Body reasonBody
}

type suspendServiceIn struct {
	serviceIn
	Body struct {
		Reason string `json:"reason" enum:"abuse,manual,resource_limit,unpaid" doc:"The customer sees it."`
		Note   string `json:"note,omitempty" maxLength:"300" doc:"What happened, for the audit log."`
	}
}

type nodeIn struct {
	Node string `path:"node" maxLength:"100" doc:"Name of the node."`
}

type nodeReasonIn struct {
	nodeIn
	Body reasonBody
}

// moveTarget says to which nodes services move. Without it they go wherever they suit best.
type moveTarget struct {
	To       string            `json:"to,omitempty" maxLength:"100" doc:"Name of the node."`
	Location string            `json:"location,omitempty" maxLength:"60" doc:"Location of the node."`
	Labels   map[string]string `json:"labels,omitempty" maxProperties:"32" doc:"Labels that the node has, by their keys; a plain tag has an empty value."`
}

func (t moveTarget) target() moves.Target {
	return moves.Target{Node: t.To, Location: t.Location, Labels: t.Labels}
}

type setNodeIn struct {
	nodeIn
	Body struct {
		Location     *string           `json:"location,omitempty" maxLength:"60" doc:"In the words of plans' locations; empty for none."`
		MaxAccounts  *int64            `json:"max_accounts,omitempty" minimum:"0" doc:"0 for no bound."`
		DiskPercent  *int64            `json:"disk_percent,omitempty" minimum:"1" maximum:"10000" doc:"How much of its disk may be sold."`
		Labels       map[string]string `json:"labels,omitempty" maxProperties:"32" doc:"Set beside those that it has; a plain tag has an empty value."`
		RemoveLabels []string          `json:"remove_labels,omitempty" maxItems:"32" doc:"Keys of labels that it has no more."`
		Reason       string            `json:"reason" minLength:"1" maxLength:"300" doc:"For the audit log."`
	}
}

type recoverNodeIn struct {
	nodeIn
	Body struct {
		moveTarget
		Empty  bool   `json:"empty,omitempty" doc:"Services of which no other node can have a backup are made without content."`
		Force  bool   `json:"force,omitempty" doc:"Though the node reports: what its services have since their backups is lost."`
		Reason string `json:"reason" minLength:"1" maxLength:"300" doc:"For the audit log."`
	}
}

type maintenanceNodeIn struct {
	nodeIn
	Body struct {
		On     bool   `json:"on"`
		Reason string `json:"reason" minLength:"1" maxLength:"300" doc:"For the audit log."`
	}
}

type moveBody struct {
	moveTarget
	Now    bool   `json:"now,omitempty" doc:"Does not wait until caches of the DNS have forgotten where it was."`
	Reason string `json:"reason" minLength:"1" maxLength:"300" doc:"For the audit log."`
}

type evacuateNodeIn struct {
	nodeIn
	Body moveBody
}

type moveServiceIn struct {
	serviceIn
	Body moveBody
}

type movesIn struct {
	page.Params
	Service int64  `query:"service_id" minimum:"1" doc:"Only moves of this service."`
	Node    string `query:"node" maxLength:"100" doc:"Name of a node that services leave, or come to."`
	Running bool   `query:"running" doc:"Only those of services that are not whole on the other node yet."`
}

type moveIn struct {
	Move int64 `path:"move" minimum:"1" doc:"Id of the move."`
}

type moveReasonIn struct {
	moveIn
	Body reasonBody
}

type newNodeIn struct {
	Body struct {
		Name        string            `json:"name" minLength:"1" maxLength:"60"`
		Location    string            `json:"location,omitempty" maxLength:"60"`
		Region      string            `json:"region,omitempty" maxLength:"60" doc:"What monitors call its place."`
		MaxAccounts int64             `json:"max_accounts,omitempty" minimum:"0" doc:"0 for no bound."`
		DiskPercent int64             `json:"disk_percent,omitempty" minimum:"0" maximum:"10000" doc:"How much of its disk may be sold; 0 for 100."`
		Labels      map[string]string `json:"labels,omitempty" maxProperties:"32" doc:"By their keys; a plain tag has an empty value."`
	}
}

type sectionIn struct {
	Section string `path:"section" maxLength:"40" doc:"Name of the section."`
	Body    struct {
		Enabled bool `json:"enabled"`
	}
}

type deliveriesIn struct {
	page.Params
	Account int64  `query:"account_id" minimum:"1" doc:"Only those of this account."`
	Status  string `query:"status" enum:"pending,sending,success,retry,failed,discarded" doc:"Only deliveries in this state."`
}

type jobIn struct {
	Job int64 `path:"job" minimum:"1" doc:"Id of the job."`
}

type jobsIn struct {
	page.Params
	State string `query:"state" enum:"available,pending,scheduled,running,retryable,discarded,cancelled,completed" doc:"Without it, those that have failed and are not done"`
	Kind  string `query:"kind" maxLength:"100" doc:"Exactly, such as services.provision"`
	Queue string `query:"queue" maxLength:"100" doc:"Only jobs of this queue."`
	// MinAttempts is how often a job has been tried.
	MinAttempts int    `query:"min_attempts" minimum:"1" maximum:"1000" doc:"Only those that were tried at least so often; the dashboard counts those in retryable with 3."`
	RequestID   string `query:"request_id" maxLength:"64" doc:"Only those that this request enqueued, itself or by another job, in any state."`
}

type cancelJobIn struct {
	jobIn
	Body reasonBody
}

type queueIn struct {
	Queue string `path:"queue" maxLength:"100" doc:"Name of the queue."`
	Body  reasonBody
}

type reviewsIn struct {
	page.Params
	Status string `query:"status" enum:"pending,approved,rejected" default:"pending" doc:"Only reviews in this state."`
}

type reviewIn struct {
	Review int64 `path:"review" minimum:"1" doc:"Id of the review."`
	Body   struct {
		Version int    `json:"version" minimum:"1" doc:"The version that was read."`
		Approve bool   `json:"approve"`
		Reason  string `json:"reason,omitempty" maxLength:"300" doc:"Of a refusal; its author reads it."`
	}
}

type monthsIn struct {
	page.Params
	Status string `query:"status" enum:"none,proposed,credited,rejected" default:"proposed" doc:"Only months in this state."`
}

type monthIn struct {
	Month int64 `path:"month" minimum:"1" doc:"Id of a service's month."`
	Body  struct {
		Decision string `json:"decision" enum:"approve,reject,hold"`
		Reason   string `json:"reason,omitempty" maxLength:"300" doc:"Of reject and hold; of a refusal the customer reads it."`
	}
}

type incidentIn struct {
	Incident int64 `path:"incident" minimum:"1" doc:"Id of the incident."`
	Body     struct {
		Status  string    `json:"status" enum:"investigating,identified,monitoring,resolved"`
		Impact  string    `json:"impact,omitempty" enum:"none,minor,major,critical" doc:"Without it, as it was."`
		Message i18n.Text `json:"message" doc:"By language."`
	}
}

type newIncidentIn struct {
	Body struct {
		Title      i18n.Text `json:"title" doc:"By language."`
		Impact     string    `json:"impact" enum:"none,minor,major,critical"`
		Status     string    `json:"status,omitempty" enum:"investigating,identified,monitoring" doc:"Without it, investigating."`
		Components []string  `json:"components,omitempty" maxItems:"50" doc:"Keys; none for all."`
		Message    i18n.Text `json:"message" doc:"By language."`
	}
}

type newMaintenanceIn struct {
	Body struct {
		Title      i18n.Text `json:"title" doc:"By language."`
		Components []string  `json:"components,omitempty" maxItems:"50" doc:"Keys; none for all."`
		StartsAt   time.Time `json:"starts_at"`
		EndsAt     time.Time `json:"ends_at"`
	}
}

type maintenanceIn struct {
	Maintenance int64 `path:"maintenance" minimum:"1" doc:"Id of the maintenance."`
}

// running are the operations about services, machines and what is published.
func (s *Service) running() []api.Route {
	a := s.Admin
	service := func(id, verb, summary string, f func(ctx context.Context, id int64) (admin.Service, error)) api.Operation[serviceReasonIn, admin.Service] {
		return change("services."+id, http.MethodPost, "/services/{service}/"+verb, summary, machines, func(ctx context.Context, in *serviceReasonIn) (*admin.Service, error) {
			return pointer(f(admin.Because(ctx, in.Body.Reason), in.Service))
		})
	}
	node := func(id, verb, summary string, f func(ctx context.Context, name string) (admin.Node, error)) api.Route {
		return change("nodes."+id, http.MethodPost, "/nodes/{node}/"+verb, summary, machines, func(ctx context.Context, in *nodeIn) (*admin.Node, error) {
			return pointer(f(ctx, in.Node))
		})
	}
	addNode := change("nodes.add", http.MethodPost, "/nodes", "Invite a machine to become a node", machines, func(ctx context.Context, in *newNodeIn) (*admin.Invitation, error) {
		return pointer(a.AddNode(ctx, nodes.NewNode{
			Name: in.Body.Name, Location: in.Body.Location, Region: in.Body.Region, MaxAccounts: in.Body.MaxAccounts, DiskPercent: in.Body.DiskPercent,
			Labels: in.Body.Labels,
		}))
	})
	addNode.Status = http.StatusCreated
	addNode.Description = "The token is shown this once."
	open := change("incidents.open", http.MethodPost, "/incidents", "Open an incident with its first message", care, func(ctx context.Context, in *newIncidentIn) (*admin.Incident, error) {
		return pointer(a.OpenIncident(ctx, status.Incident{
			Title: in.Body.Title, Impact: status.Impact(in.Body.Impact), Stage: status.Stage(cmp.Or(in.Body.Status, "investigating")), Components: in.Body.Components,
		}, in.Body.Message))
	})
	open.Status = http.StatusCreated
	plan := change("maintenance.schedule", http.MethodPost, "/maintenance", "Announce maintenance", machines, func(ctx context.Context, in *newMaintenanceIn) (*admin.Maintenance, error) {
		return pointer(a.ScheduleMaintenance(ctx, status.Planned{
			Title: in.Body.Title, Components: in.Body.Components, StartsAt: in.Body.StartsAt, EndsAt: in.Body.EndsAt,
		}))
	})
	plan.Status = http.StatusCreated
	return []api.Route{
		read("services.list", "/services", "All services, the oldest first", everyone, func(ctx context.Context, in *servicesIn) (*page.List[admin.Service], error) {
			return a.ListServices(ctx, admin.Services{AccountID: in.Account, Status: in.Status, Node: in.Node, Attention: in.Attention}, in.Params)
		}),
		read("services.get", "/services/{service}", "A service", everyone, func(ctx context.Context, in *serviceIn) (*admin.Service, error) {
			return pointer(a.Service(ctx, in.Service))
		}),
		change("services.suspend", http.MethodPost, "/services/{service}/suspend", "Take a service offline", machines,
			func(ctx context.Context, in *suspendServiceIn) (*admin.Service, error) {
				return pointer(a.SuspendService(admin.Because(ctx, in.Body.Note), in.Service, in.Body.Reason))
			}),
		service("unsuspend", "unsuspend", "Bring a suspended service back", a.UnsuspendService),
		dangerous(service("terminate", "terminate", "End a suspended service: a final backup is made, then its account is removed", a.TerminateService)),
		service("restore", "restore", "Bring a terminated service back, with what its final backup has", a.RestoreService),
		service("retry", "retry", "Make the account of a service at once instead of at the next attempt", a.RetryService),
		change("services.move", http.MethodPost, "/services/{service}/move", "Move a service to another node while it lives", machines,
			func(ctx context.Context, in *moveServiceIn) (*admin.Move, error) {
				return pointer(a.MoveService(admin.Because(ctx, in.Body.Reason), in.Service, in.Body.target(), in.Body.Now))
			}),
		read("nodes.list", "/nodes", "The hosting machines, with their room and health", everyone, func(ctx context.Context, in *nodesIn) (*list[admin.Node], error) {
			return listed(a.NodesAmong(ctx, in.Attention))
		}),
		dangerous(addNode),
		change("nodes.set", http.MethodPatch, "/nodes/{node}", "Change where a node is, its labels, and how much is placed on it", machines,
			func(ctx context.Context, in *setNodeIn) (*admin.ChangedNode, error) {
				b := in.Body
				return pointer(a.SetNode(admin.Because(ctx, b.Reason), in.Node, nodes.Change{
					Location: b.Location, MaxAccounts: b.MaxAccounts, DiskPercent: b.DiskPercent, Labels: b.Labels, RemoveLabels: b.RemoveLabels,
				}))
			}),
		node("drain", "drain", "Place no more services on a node", a.DrainNode),
		change("nodes.maintenance", http.MethodPut, "/nodes/{node}/maintenance", "Say that a node is worked at, or is not any more: nothing new is placed on it, and nobody is alarmed", machines,
			func(ctx context.Context, in *maintenanceNodeIn) (*admin.Node, error) {
				return pointer(a.SetNodeMaintenance(admin.Because(ctx, in.Body.Reason), in.Node, in.Body.On))
			}),
		node("resume", "resume", "Place services on a node again", a.ResumeNode),
		dangerous(change("nodes.rejoin", http.MethodPost, "/nodes/{node}/rejoin", "Invite a machine to replace a node's", machines,
			func(ctx context.Context, in *nodeIn) (*admin.Invitation, error) {
				return pointer(a.RejoinNode(ctx, in.Node))
			})),
		dangerous(change("nodes.upgrade", http.MethodPost, "/nodes/{node}/upgrade", "Have a node run the version of the control plane", machines,
			func(ctx context.Context, in *nodeReasonIn) (*admin.Node, error) {
				return pointer(a.UpgradeNode(admin.Because(ctx, in.Body.Reason), in.Node))
			})),
		dangerous(change("nodes.recover", http.MethodPost, "/nodes/{node}/recover", "Make the services of a dead node on others, out of their newest backups", machines,
			func(ctx context.Context, in *recoverNodeIn) (*admin.Recovery, error) {
				return pointer(a.RecoverNode(admin.Because(ctx, in.Body.Reason), moves.Recovery{Node: in.Node, To: in.Body.target(), Empty: in.Body.Empty, Force: in.Body.Force}))
			})),
		change("nodes.evacuate", http.MethodPost, "/nodes/{node}/evacuate", "Move all services of a living node to others, and place no more on it", machines,
			func(ctx context.Context, in *evacuateNodeIn) (*admin.Evacuation, error) {
				return pointer(a.EvacuateNode(admin.Because(ctx, in.Body.Reason), in.Node, in.Body.target(), in.Body.Now))
			}),
		read("moves.list", "/moves", "Moves of services from one node to another, the newest first", everyone, func(ctx context.Context, in *movesIn) (*page.List[admin.Move], error) {
			return a.ListMoves(ctx, admin.Moves{ServiceID: in.Service, Node: in.Node, Running: in.Running}, in.Params)
		}),
		read("moves.get", "/moves/{move}", "A move: which step it is at, and what is in its way", everyone, func(ctx context.Context, in *moveIn) (*admin.Move, error) {
			return pointer(a.Move(ctx, in.Move))
		}),
		change("moves.cancel", http.MethodPost, "/moves/{move}/cancel", "Call a move off whose service is where it was", machines,
			func(ctx context.Context, in *moveReasonIn) (*admin.Move, error) {
				return pointer(a.CancelMove(admin.Because(ctx, in.Body.Reason), in.Move))
			}),
		read("settings.list", "/settings", "The settings of the configuration, and where each is from", machines,
			func(_ context.Context, _ *struct{}) (*list[admin.Setting], error) {
				return listed(a.ListSettings(), nil)
			}),
		read("sections.list", "/sections", "The sections of the platform", everyone, func(_ context.Context, _ *struct{}) (*list[admin.Section], error) {
			return listed(a.ListSections(), nil)
		}),
		change("sections.set", http.MethodPut, "/sections/{section}", "Switch a section on or off: its operations answer 404", machines,
			func(ctx context.Context, in *sectionIn) (*list[admin.Section], error) {
				if err := a.SetSections(ctx, []string{in.Section}, in.Body.Enabled); err != nil {
					return nil, err
				}
				return listed(a.ListSections(), nil)
			}),
		read("domains.list", "/domains", "All registered domains, the newest first", everyone,
			func(ctx context.Context, in *registeredDomainsIn) (*page.List[admin.RegisteredDomain], error) {
				return a.ListRegisteredDomains(ctx, admin.RegisteredDomains{AccountID: in.Account, Status: in.Status, Query: in.Query, Attention: in.Attention}, in.Params)
			}),
		read("certificates.list", "/certificates", "The certificates of all services, the newest first", everyone,
			func(ctx context.Context, in *certificatesIn) (*page.List[admin.Certificate], error) {
				return a.ListCertificates(ctx, admin.Certificates{ServiceID: in.Service, Attention: in.Attention}, in.Params)
			}),
		read("webhooks.endpoints", "/webhooks/endpoints", "The addresses to which events of resellers are sent, the newest first", everyone,
			func(ctx context.Context, in *endpointsIn) (*page.List[admin.Endpoint], error) {
				return a.ListEndpoints(ctx, admin.Endpoints{AccountID: in.Account, Attention: in.Attention}, in.Params)
			}),
		read("webhooks.deliveries", "/webhooks/deliveries", "Deliveries to addresses of resellers, the newest first", everyone,
			func(ctx context.Context, in *deliveriesIn) (*page.List[admin.Delivery], error) {
				return a.Deliveries(ctx, in.Status, in.Account, in.Params)
			}),
		read("jobs.list", "/jobs", "Background jobs, the newest first: those that have failed and are not done, or those in a state", everyone,
			func(ctx context.Context, in *jobsIn) (*page.List[jobs.Listed], error) {
				return a.ListJobs(ctx, jobs.Filter{State: in.State, Kind: in.Kind, Queue: in.Queue, MinAttempts: in.MinAttempts, RequestID: in.RequestID}, in.Params)
			}),
		read("jobs.get", "/jobs/{job}", "A background job with the attempts that have failed", everyone, func(ctx context.Context, in *jobIn) (*admin.Job, error) {
			return a.GetJob(ctx, in.Job)
		}),
		read("queues.list", "/queues", "The queues of background jobs", everyone, func(ctx context.Context, _ *struct{}) (*list[jobs.Lane], error) {
			return listed(a.Queues(ctx))
		}),
		change("queues.pause", http.MethodPost, "/queues/{queue}/pause", "Begin no more jobs of a queue", machines, func(ctx context.Context, in *queueIn) (*jobs.Lane, error) {
			return pointer(a.PauseQueue(admin.Because(ctx, in.Body.Reason), in.Queue, true))
		}),
		change("queues.resume", http.MethodPost, "/queues/{queue}/resume", "Begin the jobs of a queue again", machines, func(ctx context.Context, in *queueIn) (*jobs.Lane, error) {
			return pointer(a.PauseQueue(admin.Because(ctx, in.Body.Reason), in.Queue, false))
		}),
		change("jobs.cancel", http.MethodPost, "/jobs/{job}/cancel", "End a job that waits or runs, so that it is not tried again", machines, func(ctx context.Context, in *cancelJobIn) (*api.Empty, error) {
			return nil, a.CancelJob(admin.Because(ctx, in.Body.Reason), in.Job)
		}),
		change("jobs.retry", http.MethodPost, "/jobs/{job}/retry", "Try a failed job again at once", machines, func(ctx context.Context, in *jobIn) (*api.Empty, error) {
			return nil, a.RetryJob(ctx, in.Job)
		}),
		read("reviews.list", "/reviews", "Reviews in a state, the newest first", everyone, func(ctx context.Context, in *reviewsIn) (*page.List[admin.Review], error) {
			return a.ListReviews(ctx, in.Status, in.Params)
		}),
		change("reviews.decide", http.MethodPost, "/reviews/{review}/decide", "Publish a review, or keep it from the public list", care,
			func(ctx context.Context, in *reviewIn) (*admin.Review, error) {
				if in.Body.Approve {
					return pointer(a.ApproveReview(ctx, in.Review, in.Body.Version))
				}
				return pointer(a.RejectReview(ctx, in.Review, in.Body.Version, in.Body.Reason))
			}),
		read("sla.list", "/sla", "Closed months of services in a state, the newest first", everyone, func(ctx context.Context, in *monthsIn) (*page.List[admin.SLAMonth], error) {
			return a.ListSLA(ctx, in.Status, in.Params)
		}),
		change("sla.decide", http.MethodPost, "/sla/{month}/decide", "Pay a proposed credit, decide against it, or keep it until somebody decides", money,
			func(ctx context.Context, in *monthIn) (*admin.SLAMonth, error) {
				switch in.Body.Decision {
				case "approve":
					return pointer(a.ApproveSLA(ctx, in.Month))
				case "hold":
					return pointer(a.HoldSLA(ctx, in.Month, in.Body.Reason))
				default:
					return pointer(a.RejectSLA(ctx, in.Month, in.Body.Reason))
				}
			}),
		read("incidents.list", "/incidents", "Incidents that go on, then those of the last 90 days", everyone, func(ctx context.Context, _ *struct{}) (*list[admin.Incident], error) {
			return listed(a.ListIncidents(ctx))
		}),
		open,
		change("incidents.update", http.MethodPost, "/incidents/{incident}/updates", "Say how an incident goes on", care,
			func(ctx context.Context, in *incidentIn) (*admin.Incident, error) {
				if status.Stage(in.Body.Status) == status.Resolved {
					return pointer(a.ResolveIncident(ctx, in.Incident, in.Body.Message))
				}
				return pointer(a.UpdateIncident(ctx, in.Incident, status.Stage(in.Body.Status), status.Impact(in.Body.Impact), in.Body.Message))
			}),
		read("maintenance.list", "/maintenance", "Maintenance that is ahead or goes on", everyone, func(ctx context.Context, _ *struct{}) (*list[admin.Maintenance], error) {
			return listed(a.ListMaintenance(ctx))
		}),
		plan,
		change("maintenance.cancel", http.MethodPost, "/maintenance/{maintenance}/cancel", "Call maintenance off", machines,
			func(ctx context.Context, in *maintenanceIn) (*admin.Maintenance, error) {
				return pointer(a.CancelMaintenance(ctx, in.Maintenance))
			}),
	}
}
