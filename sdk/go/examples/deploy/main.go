// Command deploy makes the site of a domain what a folder is, or takes the last deployment back:
//
//	STEAD_URL=https://my.example.com STEAD_TOKEN=sta_… go run ./examples/deploy [-delete] shop.example.com ./public
//	STEAD_URL=https://my.example.com STEAD_TOKEN=sta_… go run ./examples/deploy -rollback shop.example.com
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/deploy"
)

func main() {
	remove := flag.Bool("delete", false, "remove what earlier releases brought and the folder has no more")
	rollback := flag.Bool("rollback", false, "bring back the files of the release before")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, err := stead.New(os.Getenv("STEAD_URL"), stead.WithToken(os.Getenv("STEAD_TOKEN")))
	if err == nil {
		err = run(ctx, c, flag.Arg(0), flag.Arg(1), *remove, *rollback)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c *stead.Client, domain, folder string, remove, rollback bool) error {
	service, err := find(ctx, c, domain)
	if err != nil {
		return err
	}
	if rollback {
		r, err := c.Deploys.Rollback(ctx, service, stead.FilesRollbackBody{})
		if err != nil {
			return err
		}
		fmt.Printf("release %d restores %d\n", r.ID, *r.Restores)
		return nil
	}
	r, err := deploy.Folder(ctx, c, service, folder, deploy.Options{Delete: remove})
	if err != nil {
		return err
	}
	fmt.Printf("%d files, %d bytes: %d changed, %d new, %d removed, %d kept; sent %d bytes; release %d\n",
		r.Files, r.Bytes, r.Release.Changed, r.Release.Added, r.Release.Removed, r.Release.Kept, r.Sent, r.Release.ID)
	return nil
}

// find returns the service whose domain it is.
func find(ctx context.Context, c *stead.Client, domain string) (int64, error) {
	for s, err := range c.Services.All(ctx, stead.ServicesQuery{Q: domain, Status: stead.ServiceStatusActive}) {
		if err != nil {
			return 0, err
		}
		if s.Domain != nil && *s.Domain == domain {
			return s.ID, nil
		}
	}
	return 0, fmt.Errorf("no active service has the domain %s", domain)
}
