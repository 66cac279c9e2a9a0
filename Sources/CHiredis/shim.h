// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
// Only the reply reader: the connection is ours.
#include <stddef.h>
#include <hiredis/read.h>
