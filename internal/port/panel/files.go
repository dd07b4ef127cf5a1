package panel

import (
	"context"
	"io"
	"time"
)

// EntryType is the type of the object at a path.
type EntryType string

// The types of entries. Other is a device, socket or pipe: it is listed and never opened.
const (
	TypeFile      EntryType = "file"
	TypeDirectory EntryType = "directory"
	TypeSymlink   EntryType = "symlink"
	TypeOther     EntryType = "other"
)

// Entry describes the object at a path. A symbolic link is described itself, not its target.
type Entry struct {
	Name       string
	Path       string // from the account's home, with a leading slash
	Type       EntryType
	SizeBytes  int64  // of a file
	Mode       string // octal permissions: "0644"
	Owner      string
	MIME       string // of a file, by its name
	ETag       string // of a file: changes with every write; opaque, without quotes
	ModifiedAt time.Time
	LinkTarget string // of a symlink, as stored
}

// Listing is one page of a directory.
type Listing struct {
	Entries []Entry // directories first, each group by name
	Total   int
}

// ReadOptions selects a part of a file. The zero value reads it from the start.
type ReadOptions struct {
	FromLine int   // first line wanted, from 1; 0 and 1 are the same
	Lines    int   // number of lines; 0 means to the end
	MaxBytes int64 // most bytes to return; 0 means 1 MiB
}

// Content is a part of a file, with properties of the whole file.
type Content struct {
	Entry
	Data       []byte
	Text       bool // Data is UTF-8 without NUL
	FromLine   int  // number of the first line in Data; of text
	TotalLines int  // of the whole file; of text
	Truncated  bool // MaxBytes truncated the requested part
}

// WriteOptions guards a write. The zero value writes unconditionally into a directory that exists.
type WriteOptions struct {
	ETag     string // the version that must exist now; ErrETagMismatch otherwise
	IfAbsent bool   // ErrExists when the file exists already
	Parents  bool   // make missing directories
	MaxBytes int64  // ErrFileTooLarge beyond it; 0 means no limit but the account's
}

// File is a file opened for download: seekable, so that ranges can be served.
type File interface {
	io.ReadSeekCloser
	Entry() Entry
}

// Query is a search.
type Query struct {
	Path       string // where to look, recursively
	Text       string // name: substring, or glob when it has * ? [; content: substring of a line. Case is ignored
	InContent  bool
	MaxResults int // 0 means 100
}

// Match is one result; Line and Excerpt are set for a match in content.
type Match struct {
	Entry
	Line    int
	Excerpt string
}

// Found is the result of a search. Truncated: a limit on results, files or bytes ended it early.
type Found struct {
	Matches   []Match
	Truncated bool
}

// Files works on the files of one account. Common to all methods: a path that leads out of the
// account, by its words or through a symbolic link, is ErrPathNotAllowed; one that is not well
// formed is ErrInvalid; changing the files of a suspended account is ErrSuspended; growing beyond
// the account's disk is ErrDiskFull, beyond its inodes ErrLimit. The home and the directories that
// hosting itself needs (public_html, logs, tmp) cannot be moved, replaced or removed.
type Files interface {
	// List pages through one directory; limit 0 lists all, which fails for tens of thousands of entries on another machine. Links are
	// listed, never followed.
	List(ctx context.Context, ref, path string, offset, limit int) (Listing, error)
	Stat(ctx context.Context, ref, path string) (Entry, error)
	// Read returns a part of a file in memory bounded by MaxBytes, whatever the size of the file.
	// ErrNotText: lines were asked for and there are none. ErrFileTooLarge: binary, beyond MaxBytes.
	Read(ctx context.Context, ref, path string, opt ReadOptions) (Content, error)
	// Write replaces the file whole and atomically: no reader sees a part of it.
	Write(ctx context.Context, ref, path string, data []byte, opt WriteOptions) (Entry, error)
	// Upload is Write from a stream of any length in constant memory. When src fails, the returned error wraps its
	// error (errors.Is, errors.As): the sender failed.
	Upload(ctx context.Context, ref, path string, src io.Reader, opt WriteOptions) (Entry, error)
	// Open opens a regular file for download; the caller closes it.
	Open(ctx context.Context, ref, path string) (File, error)
	// Mkdir creates a directory and its parents; it returns an existing one. ErrExists: a file has the name.
	Mkdir(ctx context.Context, ref, path string) (Entry, error)
	// Move renames. ErrExists: something is at to and overwrite is false. ErrInvalid: into itself.
	Move(ctx context.Context, ref, from, to string, overwrite bool) (Entry, error)
	// Copy copies recursively; links are copied as links. The copy appears complete or not at all.
	Copy(ctx context.Context, ref, from, to string, overwrite bool) (Entry, error)
	// SetPermissions gives a file or a directory a mode, and with Recursive all files and directories in it. It follows no symbolic
	// link, neither at the path (ErrPathNotAllowed) nor below, where links and what is neither file nor directory stay as they are.
	// The directories that hosting needs keep their own mode, so without Recursive they are ErrPathNotAllowed, and so are the home,
	// logs and tmp in any case. ErrInvalid: the modes do not Fit. What a context that ends interrupts is completed by doing it
	// again.
	SetPermissions(ctx context.Context, ref, path string, p Permissions) (Entry, error)
	// Remove removes. ErrInUse: a directory that is not empty, without recursive.
	Remove(ctx context.Context, ref, path string, recursive bool) error
	Search(ctx context.Context, ref string, q Query) (Found, error)
}

// Extracted counts what an extraction wrote.
type Extracted struct {
	Files       int
	Directories int
	Bytes       int64
}

// ArchiveMember is something in an archive.
type ArchiveMember struct {
	Path      string // relative, without a leading slash
	Type      EntryType
	SizeBytes int64 // unpacked
}

// Archives packs and unpacks archives within one account. Formats: zip and tar.gz.
type Archives interface {
	// OpenZip streams a directory as a zip file; the caller closes the stream, early if it likes.
	OpenZip(ctx context.Context, ref, path string) (io.ReadCloser, error)
	// CreateArchive packs paths, named relative to the directory they share, into target, whose
	// name (.zip, .tar.gz, .tgz) tells the format. ErrExists: target is there.
	CreateArchive(ctx context.Context, ref string, paths []string, target string) (Entry, error)
	// ListArchive lists what is in an archive, in its order, at most limit of it. An archive that Extract would refuse
	// for what is in it is refused in the same way.
	ListArchive(ctx context.Context, ref, archive string, limit int) ([]ArchiveMember, error)
	// Extract unpacks an archive into the directory target, which is made when missing. The whole
	// archive is judged first: one with a path, link or file type that could do harm
	// (ErrPathNotAllowed, ErrInvalid), or too big a content (ErrDiskFull, ErrLimit), writes
	// nothing. With overwrite files in the way are replaced by files, and files and links by symbolic
	// links, never directories; otherwise they are ErrExists. Hard links become copies. What a
	// context that ends interrupts leaves whole files only; doing it again with overwrite completes it.
	Extract(ctx context.Context, ref, archive, target string, overwrite bool) (Extracted, error)
}
