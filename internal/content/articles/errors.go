package articles

import "stead.dev/stead/internal/platform/fault"

// errLinked refuses to remove what other articles lead to; `articles` names them.
var errLinked = fault.Define(fault.KindUnprocessable, "article_linked")

// errShown refuses to remove a picture that articles show; `articles` names them.
var errShown = fault.Define(fault.KindUnprocessable, "article_picture_shown")
