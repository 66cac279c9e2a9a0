// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
#include "COpenSSL.h"

void sp_SSL_CTX_set_house_options(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

void sp_SSL_CTX_prefer_server_ciphers(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
}

void sp_SSL_CTX_ignore_unexpected_end(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
}

void sp_SSL_CTX_set_tickets(SSL_CTX *context, int allowed) {
    if (allowed) {
        SSL_CTX_clear_options(context, SSL_OP_NO_TICKET);
    } else {
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    }
}

long sp_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}

long sp_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}

long sp_SSL_CTX_add0_chain_cert(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add0_chain_cert(context, certificate);
}

long sp_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *groups) {
    return SSL_CTX_set1_groups_list(context, groups);
}

long sp_SSL_CTX_set_tlsext_servername_callback(SSL_CTX *context, int (*callback)(SSL *, int *, void *)) {
    return SSL_CTX_set_tlsext_servername_callback(context, callback);
}

long sp_SSL_CTX_set_tlsext_servername_arg(SSL_CTX *context, void *argument) {
    return SSL_CTX_set_tlsext_servername_arg(context, argument);
}

long sp_SSL_set_tlsext_host_name(SSL *ssl, const char *name) { return SSL_set_tlsext_host_name(ssl, name); }

void sp_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

void sp_BIO_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }

const unsigned char *sp_dns_name(const GENERAL_NAMES *names, int index, int *length) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    if (name == NULL) return NULL;
    if (name->type != GEN_DNS) {
        *length = -1;
        return (const unsigned char *)"";
    }
    *length = ASN1_STRING_length(name->d.dNSName);
    return ASN1_STRING_get0_data(name->d.dNSName);
}

void sp_GENERAL_NAMES_free(GENERAL_NAMES *names) { GENERAL_NAMES_free(names); }
