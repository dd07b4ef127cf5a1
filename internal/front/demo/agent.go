package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// rehearsed is the model of demonstrations, which needs no provider. Real models are not asked: they cost money, and do not
// do the same twice.
const rehearsed = "rehearsed"

// agentBudget is what the agent may cost, in cents.
const agentBudget = 10

// agentRun is what is read of a run of the agent.
type agentRun struct {
	ID        int64  `json:"id"`
	Status    string `json:"status"`
	EndReason string `json:"end_reason"`
	Message   string `json:"message"`
	Changes   []struct {
		Path string `json:"path"`
		Diff string `json:"diff"`
	} `json:"changes"`
	Usage struct {
		Cost money `json:"cost"`
	} `json:"usage"`
}

// letAgentWork has the agent change the page that is served, and takes the change back.
func (d *demonstration) letAgentWork(ctx context.Context) error {
	var settings struct {
		Models []string `json:"models"`
	}
	_, err := d.call(ctx, http.MethodGet, "/api/v1/ai/settings", nil, &settings)
	var r *refused
	if errors.As(err, &r) && r.Status == http.StatusNotFound || err == nil && !slices.Contains(settings.Models, rehearsed) {
		d.report.note("this installation has no rehearsed model: the agent is left alone")
		return nil
	}
	if err != nil {
		return err
	}
	_, err = d.call(ctx, http.MethodPut, "/api/v1/ai/settings",
		map[string]any{"enabled": true, "mode": "autopilot", "model": rehearsed, "monthly_budget_usd_cents": agentBudget}, nil)
	if err != nil {
		return err
	}
	before, err := d.homePage(ctx)
	if err != nil {
		return err
	}
	var run agentRun
	if _, err := d.call(ctx, http.MethodPost, d.agent("/run"), map[string]string{"message": "Change the heading of the home page"}, &run); err != nil {
		return err
	}
	if run, err = d.awaitRun(ctx, run); err != nil {
		return err
	}
	if len(run.Changes) != 1 {
		return fmt.Errorf("the agent made %d changes, not one", len(run.Changes))
	}
	d.report.note("the agent: %s", run.Message)
	d.report.note("%s, for %d cents:\n%s", run.Changes[0].Path, run.Usage.Cost.USDCents, run.Changes[0].Diff)
	changed, err := d.homePage(ctx)
	if err != nil {
		return err
	}
	if bytes.Equal(changed, before) {
		return errors.New("the page that is served is the one from before")
	}
	var undo agentRun
	if _, err := d.call(ctx, http.MethodPost, d.agent("/runs/"+strconv.FormatInt(run.ID, 10)+"/undo"), map[string]any{}, &undo); err != nil {
		return err
	}
	if _, err := d.awaitRun(ctx, undo); err != nil {
		return err
	}
	after, err := d.homePage(ctx)
	if err == nil && !bytes.Equal(after, before) {
		err = errors.New("after the undo the page is not the one from before")
	}
	return err
}

func (d *demonstration) agent(rest string) string {
	return "/api/v1/services/" + strconv.FormatInt(d.service, 10) + "/ai" + rest
}

// homePage is the first page as the world is served it.
func (d *demonstration) homePage(ctx context.Context) ([]byte, error) {
	got, err := d.origin.get(ctx, "/")
	if err == nil && got.status != http.StatusOK {
		err = fmt.Errorf("%s/ answered %d", d.origin, got.status)
	}
	return got.body, err
}

// awaitRun waits until a run is completed.
func (d *demonstration) awaitRun(ctx context.Context, run agentRun) (agentRun, error) {
	err := d.await(ctx, "the run", func(ctx context.Context) (bool, error) {
		_, err := d.call(ctx, http.MethodGet, d.agent("/runs/"+strconv.FormatInt(run.ID, 10)), nil, &run)
		if err == nil && run.Status != "queued" && run.Status != "running" && run.Status != "completed" {
			err = fmt.Errorf("the run is %s: %s", run.Status, run.EndReason)
		}
		return run.Status == "completed", err
	})
	return run, err
}
