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

// What both sides of TLS share: partial writes from a moving buffer, read-ahead, no renegotiation, no compression.
void sp_SSL_CTX_set_house_options(SSL_CTX *context);
// SSL_OP_CIPHER_SERVER_PREFERENCE and SSL_OP_PRIORITIZE_CHACHA.
void sp_SSL_CTX_prefer_server_ciphers(SSL_CTX *context);
// SSL_OP_IGNORE_UNEXPECTED_EOF.
void sp_SSL_CTX_ignore_unexpected_end(SSL_CTX *context);
// SSL_OP_NO_TICKET on or off.
void sp_SSL_CTX_set_tickets(SSL_CTX *context, int allowed);
long sp_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version);
long sp_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode);
long sp_SSL_CTX_add0_chain_cert(SSL_CTX *context, X509 *certificate);
long sp_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *groups);
long sp_SSL_CTX_set_tlsext_servername_callback(SSL_CTX *context, int (*callback)(SSL *, int *, void *));
long sp_SSL_CTX_set_tlsext_servername_arg(SSL_CTX *context, void *argument);
long sp_SSL_set_tlsext_host_name(SSL *ssl, const char *name);
void sp_BIO_set_retry_read(BIO *bio);
void sp_BIO_clear_retry_flags(BIO *bio);
// The DNS names of a certificate: the bytes of the one at `index`, or null past the end; other kinds give length -1.
const unsigned char *sp_dns_name(const GENERAL_NAMES *names, int index, int *length);
void sp_GENERAL_NAMES_free(GENERAL_NAMES *names);

// The names of parameters, as pointers that outlive the call: Swift imports the macros as strings, whose pointers do not.
static inline const char *sp_mac_param_digest(void) { return OSSL_MAC_PARAM_DIGEST; }
static inline const char *sp_mac_param_key(void) { return OSSL_MAC_PARAM_KEY; }

#endif
