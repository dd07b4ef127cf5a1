// Package reference is the reference of the API at /docs/: pages that the server writes from the OpenAPI document, readable
// without scripts. A script adds a search and lets readers call the interface, with a token that they paste or that they get
// by signing in (PKCE, as an application of Stead's own). Pages load nothing from other servers, and their policy allows no
// inline script or style.
//
// It also serves the guides of the folder docs at /docs/guides, with a search, as they were when this program was built.
package reference
