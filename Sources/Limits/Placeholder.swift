// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
