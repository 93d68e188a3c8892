/**
 * An authenticator in software, as a browser answers for it (WebAuthn Level 3): a P-256 key for each passkey,
 * attestation `none`, and a counter. Tests change what it claims: another origin, an unverified person, a counter that
 * stands still.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

export interface AuthenticatorClaims {
  readonly origin: string
  /** By default the host of the origin. */
  readonly rpId?: string
  /** By default true: fingerprint, face or PIN. */
  readonly isVerified?: boolean
}

/** JSON of WebAuthn, as `navigator.credentials` returns it. */
export type PasskeyJson = Readonly<Record<string, unknown>> & { readonly id: string }

export interface VirtualAuthenticator {
  /** The counter of the next response; 0 for an authenticator without one. */
  counter: number
  create(options: { readonly challenge: string }, claims: AuthenticatorClaims): PasskeyJson
  /** With the passkey that was created last. */
  get(options: { readonly challenge: string }, claims: AuthenticatorClaims): PasskeyJson
}

const FLAGS = { present: 0x01, verified: 0x04, credential: 0x40 }
const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()
const base64url = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64url')

/** CBOR of a byte string of 24 to 65,535 bytes, in its shortest form (RFC 8949 §4.2.1). */
function cborBytes(bytes: Buffer): Buffer {
  const { length } = bytes
  const head = length < 256 ? Buffer.of(0x58, length) : Buffer.of(0x59, length >> 8, length & 0xff)
  return Buffer.concat([head, bytes])
}

/** COSE_Key of P-256 (RFC 9053 §7.1): kty 2, alg -7, crv 1, x, y. */
function coseKey(publicKey: KeyObject): Buffer {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const point = (label: number, text: string): Buffer =>
    Buffer.concat([Buffer.of(label), cborBytes(Buffer.from(text, 'base64url'))])
  return Buffer.concat([Buffer.of(0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01), point(0x21, x), point(0x22, y)])
}

function authenticatorData(
  { origin, rpId, isVerified = true }: AuthenticatorClaims,
  counter: number,
  credential: Buffer = Buffer.alloc(0),
): Buffer {
  const flags = FLAGS.present | (isVerified ? FLAGS.verified : 0) | (credential.length > 0 ? FLAGS.credential : 0)
  const count = Buffer.alloc(4)
  count.writeUInt32BE(counter)
  return Buffer.concat([sha256(rpId ?? new URL(origin).hostname), Buffer.of(flags), count, credential])
}

function clientData(type: string, challenge: string, { origin }: AuthenticatorClaims): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
}

export function createVirtualAuthenticator(): VirtualAuthenticator {
  let [id, privateKey]: [Buffer, KeyObject | null] = [Buffer.alloc(0), null]
  const wrap = (response: object): PasskeyJson => ({
    id: base64url(id),
    rawId: base64url(id),
    type: 'public-key',
    clientExtensionResults: {},
    response,
  })
  const authenticator: VirtualAuthenticator = {
    counter: 1,
    create({ challenge }, claims) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      privateKey = pair.privateKey
      id = randomBytes(32)
      const aaguid = Buffer.alloc(16)
      const credential = Buffer.concat([aaguid, Buffer.of(0, id.length), id, coseKey(pair.publicKey)])
      const data = authenticatorData(claims, authenticator.counter++, credential)
      // {"fmt": "none", "attStmt": {}, "authData": …}
      const attestation = Buffer.concat([
        Buffer.of(0xa3, 0x63),
        Buffer.from('fmt'),
        Buffer.of(0x64),
        Buffer.from('none'),
        Buffer.of(0x67),
        Buffer.from('attStmt'),
        Buffer.of(0xa0, 0x68),
        Buffer.from('authData'),
        cborBytes(data),
      ])
      return wrap({
        clientDataJSON: base64url(clientData('webauthn.create', challenge, claims)),
        attestationObject: base64url(attestation),
        transports: ['internal'],
      })
    },
    get({ challenge }, claims) {
      if (privateKey === null) throw new Error('create a passkey first')
      const client = clientData('webauthn.get', challenge, claims)
      const data = authenticatorData(claims, authenticator.counter)
      if (authenticator.counter > 0) authenticator.counter++
      return wrap({
        clientDataJSON: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(sign('sha256', Buffer.concat([data, sha256(client)]), privateKey)),
      })
    },
  }
  return authenticator
}
