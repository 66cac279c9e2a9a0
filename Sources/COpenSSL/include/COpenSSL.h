// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
// OpenSSL as Swift sees it; shims.c holds only what are macros there.
#ifndef SALLYPORT_COPENSSL_H
#define SALLYPORT_COPENSSL_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#endif
