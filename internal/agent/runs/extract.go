package runs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// Bounds of an archive that is extracted.
const (
	mostArchive  = 100 << 20 // bytes of it, and of what is in it
	mostUnpacked = 2000      // files and folders
)

func extractTool() tool {
	return tool{
		name: "extract_archive", plan: extractArchive,
		description: "Unpack a zip or tar.gz file into a folder, which is made when missing. Files that are in the way are refused, or with replace moved to the trash. " +
			"At most 2000 entries and 100 MB, no links. The customer is asked first.",
		schema: `{"type": "object", "properties": {"path": {"type": "string", "description": "The archive"}, "target": {"type": "string", "description": "The folder"},
			"replace": {"type": "boolean"}}, "required": ["path", "target"], "additionalProperties": false}`,
	}
}

// extraction is what is to be unpacked, and where.
type extraction struct {
	workplace

	archive, target string
	replace         bool
	members         []panel.ArchiveMember
}

// extractArchive plans an extraction. It has two halves, each in the journal before it is done: first the archive is
// unpacked beside the site, where nobody looks; then what came out of it is moved to its place (placeExtracted), for only
// then it is known what it is. A person approves both at once: the plan has what is replaced.
func extractArchive(ctx context.Context, w workplace, arguments string) (p plan, err error) {
	x, found, err := w.openArchive(ctx, arguments)
	if err != nil {
		return p, err
	}
	var lines []string
	for _, m := range x.members {
		line := path.Join(x.target, m.Path)
		if m.Type != panel.TypeDirectory {
			line += fmt.Sprintf(" %d bytes", m.SizeBytes)
		} else {
			line += "/"
		}
		lines = append(lines, line)
	}
	p.changes = []change{{
		kind: unpack, path: x.archive, before: found.hash, after: found.hash,
		diff: shorten(plain(w.mask.Mask("", strings.Join(lines, "\n"))), mostDiff),
	}}
	rest, moves, err := x.places(ctx)
	if err != nil {
		return p, err
	}
	if len(rest)+len(moves) >= mostFiles {
		return p, refuse("too_many_files", "it would replace more than %d files: extract it into a folder of its own", mostFiles)
	}
	p.changes = append(p.changes, rest...)
	p.first = 1
	return p, nil
}

// openArchive reads what is in an archive.
func (w workplace) openArchive(ctx context.Context, arguments string) (x extraction, found thing, err error) {
	in, err := decode[struct {
		Path    string `json:"path"`
		Target  string `json:"target"`
		Replace bool   `json:"replace"`
	}](arguments)
	if err != nil {
		return x, found, err
	}
	x = extraction{workplace: w, replace: in.Replace}
	if x.archive, err = w.within(in.Path); err != nil {
		return x, found, err
	}
	if x.target, err = w.within(in.Target); err != nil {
		return x, found, err
	}
	if w.archives == nil {
		return x, found, refuse("unsupported_operation", "the hosting server of this site cannot do it")
	}
	found, err = w.look(ctx, x.archive)
	switch {
	case err != nil:
		return x, found, err
	case found.hash == nothing:
		return x, found, refuse("not_found", "there is no file %s", x.archive)
	case found.hash == directory, found.hash == other:
		return x, found, refuse("not_a_file", "%s is a folder or a link", x.archive)
	case found.size > mostArchive:
		return x, found, refuse("file_too_large", "%s has more than %d bytes", x.archive, mostArchive)
	}
	if x.members, err = w.archives.ListArchive(ctx, w.ref, x.archive, mostUnpacked+1); err != nil {
		return x, found, err
	}
	var size int64
	for _, m := range x.members {
		size += m.SizeBytes
		switch to := path.Join(x.target, m.Path); {
		case m.Type == panel.TypeSymlink:
			return x, found, refuse("archive_has_links", "%s is a link", m.Path)
		case !w.terms.reaches(to):
			return x, found, refuse("path_not_allowed", "%s is not among the paths that the customer has opened", to)
		}
	}
	if len(x.members) == 0 || len(x.members) > mostUnpacked || size > mostArchive {
		return x, found, refuse("archive_too_large", "it may have 1 to %d entries and %d bytes", mostUnpacked, mostArchive)
	}
	return x, found, nil
}

// placing is a move of something that was extracted: rel is where it is in the archive.
type placing struct{ rel, to string }

// places says where what is extracted goes: folders to make and files that are replaced first, then the moves. A folder that
// the site does not have yet is moved whole.
func (x extraction) places(ctx context.Context) (before []change, moves []placing, err error) {
	there, err := x.look(ctx, x.target)
	switch {
	case err != nil:
		return nil, nil, err
	case there.hash == nothing:
		before, err = x.folders(ctx, path.Dir(x.target))
		return before, []placing{{".", x.target}}, err
	case there.hash != directory:
		return nil, nil, refuse("already_exists", "%s is no folder", x.target)
	}
	isFolder := map[string]bool{}
	children := map[string][]string{} // by folder, each once
	for _, m := range x.members {
		isFolder[m.Path] = isFolder[m.Path] || m.Type == panel.TypeDirectory
		for p := m.Path; p != "."; p = path.Dir(p) {
			dir := path.Dir(p)
			isFolder[dir] = true
			if slices.Contains(children[dir], p) {
				break
			}
			children[dir] = append(children[dir], p)
		}
	}
	var place func(dir string) error
	place = func(dir string) error {
		for _, rel := range children[dir] {
			to := path.Join(x.target, rel)
			found, err := x.look(ctx, to)
			switch {
			case err != nil:
				return err
			case found.hash == nothing:
				moves = append(moves, placing{rel, to})
			case found.hash == directory && isFolder[rel]:
				if err := place(rel); err != nil {
					return err
				}
			case found.hash == directory, found.hash == other, isFolder[rel]:
				return refuse("already_exists", "%s is there and is something else", to)
			case !x.replace:
				return refuse("already_exists", "%s is there: extract into another folder, or with replace", to)
			default:
				before = append(before, change{kind: remove, path: to, before: found.hash, after: found.hash})
				moves = append(moves, placing{rel, to})
			}
			if len(before)+len(moves) > mostFiles {
				return nil // the caller refuses it
			}
		}
		return nil
	}
	err = place(".")
	return before, moves, err
}

// placeExtracted plans the second half of an extraction: what was unpacked into the stage goes to its place. It must be as it
// was approved: the same archive, and the same files in its way.
func (w *worker) placeExtracted(ctx context.Context, place workplace, c call, unpacked change) (p plan, err error) {
	approved, err := extractArchive(ctx, place, c.arguments)
	if err != nil {
		return p, err
	}
	answered, err := lastApproval(ctx, w.DB, c.id)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return p, err
	}
	if err != nil || answered.status != approvalApproved || answered.hash != hashOfPlan(c, approved) {
		return p, changedMeanwhile(approved.changes[0].path)
	}
	x, _, err := place.openArchive(ctx, c.arguments)
	if err != nil {
		return p, err
	}
	before, moves, err := x.places(ctx)
	if err != nil {
		return p, err
	}
	p.changes = before
	for _, m := range moves {
		from := path.Join(unpacked.toPath, m.rel)
		found, err := place.look(ctx, from)
		switch {
		case err != nil:
			return p, err
		case found.hash == nothing, found.hash == other:
			return p, refuse("not_found", "the archive has no %s any more", m.rel)
		}
		p.changes = append(p.changes, change{kind: move, path: from, toPath: m.to, before: found.hash, after: found.hash})
	}
	return p, nil
}

// part is where an archive is unpacked. What is in it is not whole before it has the name of the stage.
func part(stage string) string { return stage + ".part" }

// applyUnpack unpacks an archive into its stage: whole, or not at all.
func (p project) applyUnpack(ctx context.Context, c change) error {
	if p.archives == nil {
		return &panel.Error{Kind: panel.ErrUnsupported, Op: "extract", Ref: p.ref}
	}
	_, err := p.archives.Extract(ctx, p.ref, c.path, part(c.toPath), true)
	if err == nil {
		_, err = p.files.Move(ctx, p.ref, part(c.toPath), c.toPath, false)
	}
	switch panel.KindOf(err) {
	case "", panel.ErrUnreachable, panel.ErrBusy, panel.ErrInternal, panel.ErrSuspended:
	default: // it is not tried again
		_ = p.files.Remove(ctx, p.ref, part(c.toPath), true) // else it goes with the trash
	}
	return err
}
