// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// Asks for a key that can only check signatures.
let publicKeySelection = CInt(OSSL_KEYMGMT_SELECT_ALL_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY)

/// A key that holds a curve and no point, made once for each curve: copying it and setting a point costs a third of
/// building a key from parameters.
@safe
final class CurveTemplate: Sendable {
    // Proof: the pointer never changes, and copying a key only reads it.
    nonisolated(unsafe) private let pointer: OpaquePointer

    static let p256 = CurveTemplate("P-256")
    static let p384 = CurveTemplate("P-384")
    static let p521 = CurveTemplate("P-521")

    private init(_ curve: String) {
        let selection = CInt(OSSL_KEYMGMT_SELECT_ALL_PARAMETERS)
        guard let key = unsafe makeLibraryKey("EC", [("group", .text(curve))], selection: selection) else {
            preconditionFailure("the library lacks \(curve)")
        }
        unsafe pointer = key
    }

    /// A key of this curve with the uncompressed `point`, or nil if that is not on it; the caller owns it.
    func key(at point: [UInt8]) -> OpaquePointer? {
        guard let key = unsafe EVP_PKEY_dup(pointer) else { return nil }
        guard unsafe EVP_PKEY_set1_encoded_public_key(key, point, point.count) == 1 else {
            unsafe EVP_PKEY_free(key)
            clearLibraryErrors()
            return nil
        }
        return unsafe key
    }
}

/// A value of the library's key parameters.
enum ParameterValue {
    /// A name.
    case text(String)
    /// Bytes as they are.
    case octets([UInt8])
    /// A big-endian number.
    case magnitude([UInt8])
}

/// A library key of `name` built from `parameters`, or nil if they make none; the caller owns it.
func makeLibraryKey(
    _ name: String,
    _ parameters: [(StaticString, ParameterValue)],
    selection: CInt
) -> OpaquePointer? {
    guard let builder = unsafe OSSL_PARAM_BLD_new() else { return nil }
    defer { unsafe OSSL_PARAM_BLD_free(builder) }
    var numbers: [OpaquePointer] = unsafe []
    defer { unsafe numbers.forEach { unsafe BN_free($0) } }
    // The builder keeps pointers to texts and bytes until it makes the list, so they are copied to where they stay.
    var copies: [UnsafeMutableRawPointer] = unsafe []
    defer { unsafe copies.forEach { unsafe $0.deallocate() } }
    for (parameter, value) in parameters {
        let parameter = unsafe UnsafeRawPointer(parameter.utf8Start).assumingMemoryBound(to: CChar.self)
        let status: CInt
        switch value {
        case .text(let text):
            status = unsafe OSSL_PARAM_BLD_push_utf8_string(
                builder,
                parameter,
                keep(Array(text.utf8), in: &copies),
                text.utf8.count
            )
        case .octets(let bytes):
            status = unsafe OSSL_PARAM_BLD_push_octet_string(builder, parameter, keep(bytes, in: &copies), bytes.count)
        case .magnitude(let bytes):
            guard let length = CInt(exactly: bytes.count), let number = unsafe BN_bin2bn(bytes, length, nil) else {
                return nil
            }
            unsafe numbers.append(number)
            status = unsafe OSSL_PARAM_BLD_push_BN(builder, parameter, number)
        }
        guard status == 1 else { return nil }
    }
    guard let list = unsafe OSSL_PARAM_BLD_to_param(builder) else { return nil }
    defer { unsafe OSSL_PARAM_free(list) }
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, name, nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard unsafe EVP_PKEY_fromdata_init(context) == 1,
        unsafe EVP_PKEY_fromdata(context, &key, selection, list) == 1
    else {
        clearLibraryErrors()
        return nil
    }
    return unsafe key
}

private func keep(_ bytes: [UInt8], in copies: inout [UnsafeMutableRawPointer]) -> UnsafeMutableRawPointer {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: bytes.count + 1, alignment: 1)
    unsafe copy.copyMemory(from: bytes, byteCount: bytes.count)
    unsafe copy.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
    unsafe copies.append(copy)
    return unsafe copy
}
