// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// A text sealed with AES-256-GCM.
package struct SealedBox: Equatable, Sendable {
    /// The 12 bytes that no two texts under one key may share.
    package let nonce: [UInt8]
    /// As long as the text.
    package let ciphertext: [UInt8]
    /// Always 16 bytes: a shorter tag is a shorter guess.
    package let tag: [UInt8]

    /// The length of a nonce.
    static let nonceLength = 12
    /// The length of a tag.
    static let tagLength = 16

    /// A box of these parts, if their lengths are right.
    package init(nonce: [UInt8], ciphertext: [UInt8], tag: [UInt8]) throws(CryptoError) {
        guard nonce.count == Self.nonceLength, tag.count == Self.tagLength else { throw .illegalLength }
        self.nonce = nonce
        self.ciphertext = ciphertext
        self.tag = tag
    }

    /// A box stored as `nonce || ciphertext || tag`.
    package init(combined: [UInt8]) throws(CryptoError) {
        guard combined.count >= Self.nonceLength + Self.tagLength else { throw .illegalLength }
        nonce = Array(combined.prefix(Self.nonceLength))
        ciphertext = Array(combined.dropFirst(Self.nonceLength).dropLast(Self.tagLength))
        tag = Array(combined.suffix(Self.tagLength))
    }

    /// `nonce || ciphertext || tag`.
    package var combined: [UInt8] {
        nonce + ciphertext + tag
    }
}

/// Authenticated encryption with AES-256-GCM; nonces are 12 bytes, tags 16.
package enum AES256GCM {
    /// Seals `plaintext` under `key` with a fresh random nonce; `context` is authenticated, not kept.
    package static func seal(
        _ plaintext: [UInt8],
        key: SecretBytes,
        context: [UInt8] = []
    ) throws(CryptoError) -> SealedBox {
        try seal(plaintext, key: key, nonce: try RandomBytes.make(SealedBox.nonceLength), context: context)
    }

    /// Seals `plaintext` under `key` with a nonce that the caller never uses again.
    package static func seal(
        _ plaintext: [UInt8],
        key: SecretBytes,
        nonce: [UInt8],
        context: [UInt8]
    ) throws(CryptoError) -> SealedBox {
        guard key.count == 32, nonce.count == SealedBox.nonceLength, let length = CInt(exactly: plaintext.count),
            let contextLength = CInt(exactly: context.count)
        else { throw .illegalLength }
        let cipher = CipherContext()
        var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: SealedBox.tagLength)
        let isSealed = unsafe cipher.withPointer { pointer in
            var written: CInt = 0
            let isStarted = key.withBytes { bytes in
                unsafe bytes.withUnsafeBufferPointer {
                    unsafe EVP_EncryptInit_ex2(pointer, FetchedCipher.aes256GCM.pointer, $0.baseAddress, nonce, nil)
                        == 1
                }
            }
            return unsafe isStarted
                && (context.isEmpty || EVP_EncryptUpdate(pointer, nil, &written, context, contextLength) == 1)
                && (plaintext.isEmpty || EVP_EncryptUpdate(pointer, &ciphertext, &written, plaintext, length) == 1)
                && EVP_EncryptFinal_ex(pointer, nil, &written) == 1
                && EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_GET_TAG, CInt(SealedBox.tagLength), &tag) == 1
        }
        guard isSealed else {
            clearLibraryErrors()
            throw .operationFailed
        }
        return try SealedBox(nonce: nonce, ciphertext: ciphertext, tag: tag)
    }

    /// The text of `box`, if it was sealed under `key` with this `context`.
    package static func open(
        _ box: SealedBox,
        key: SecretBytes,
        context: [UInt8] = []
    ) throws(CryptoError) -> [UInt8] {
        guard key.count == 32, let length = CInt(exactly: box.ciphertext.count),
            let contextLength = CInt(exactly: context.count)
        else { throw .illegalLength }
        let cipher = CipherContext()
        var plaintext = [UInt8](repeating: 0, count: box.ciphertext.count)
        var tag = box.tag
        let isOpened = unsafe cipher.withPointer { pointer in
            var written: CInt = 0
            let isStarted = key.withBytes { bytes in
                unsafe bytes.withUnsafeBufferPointer {
                    unsafe EVP_DecryptInit_ex2(pointer, FetchedCipher.aes256GCM.pointer, $0.baseAddress, box.nonce, nil)
                        == 1
                }
            }
            return unsafe isStarted
                && (context.isEmpty || EVP_DecryptUpdate(pointer, nil, &written, context, contextLength) == 1)
                && (box.ciphertext.isEmpty
                    || EVP_DecryptUpdate(pointer, &plaintext, &written, box.ciphertext, length) == 1)
                && EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_SET_TAG, CInt(SealedBox.tagLength), &tag) == 1
                && EVP_DecryptFinal_ex(pointer, nil, &written) == 1
        }
        guard isOpened else {
            clearLibraryErrors()
            throw .authenticationFailed
        }
        return plaintext
    }
}

/// AES-256 key wrap of RFC 3394, with its default initial value.
package enum AESKeyWrap {
    /// `secret`, whose length is a multiple of eight, wrapped under `key`.
    package static func wrap(_ secret: SecretBytes, key: SecretBytes) throws(CryptoError) -> [UInt8] {
        guard secret.count >= 16, secret.count % 8 == 0 else { throw .illegalLength }
        var bytes = secret.copy()
        defer { SecretBytes.wipe(&bytes) }
        return try run(bytes, key: key, isWrapping: true)
    }

    /// The secret wrapped in `wrapped` under `key`.
    package static func unwrap(_ wrapped: [UInt8], key: SecretBytes) throws(CryptoError) -> SecretBytes {
        guard wrapped.count >= 24, wrapped.count % 8 == 0 else { throw .illegalLength }
        var secret = try run(wrapped, key: key, isWrapping: false)
        return SecretBytes(wiping: &secret)
    }

    private static func run(_ input: [UInt8], key: SecretBytes, isWrapping: Bool) throws(CryptoError) -> [UInt8] {
        guard key.count == 32, let length = CInt(exactly: input.count) else { throw .illegalLength }
        let cipher = CipherContext()
        var output = [UInt8](repeating: 0, count: input.count + 16)
        var written: CInt = 0
        let isDone = unsafe cipher.withPointer { pointer in
            unsafe EVP_CIPHER_CTX_set_flags(pointer, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
            let isStarted = key.withBytes { bytes in
                unsafe bytes.withUnsafeBufferPointer {
                    unsafe EVP_CipherInit_ex2(
                        pointer,
                        FetchedCipher.aes256Wrap.pointer,
                        $0.baseAddress,
                        nil,
                        isWrapping ? 1 : 0,
                        nil
                    ) == 1
                }
            }
            return unsafe isStarted && EVP_CipherUpdate(pointer, &output, &written, input, length) == 1
        }
        guard isDone, written > 0 else {
            clearLibraryErrors()
            throw .authenticationFailed
        }
        return Array(output.prefix(Int(written)))
    }
}
