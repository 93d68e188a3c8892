/**
 * Options and checks of passkeys (WebAuthn Level 3), with @simplewebauthn/server. Loaded at the first use. The person
 * is always verified by the authenticator, by fingerprint, face or PIN, so a passkey is two factors by itself.
 * Challenges are chosen and used up by the caller.
 */
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server'

export interface RelyingParty {
  /** The host of PUBLIC_URL. */
  readonly id: string
  readonly origin: string
}

export interface StoredPasskey {
  /** base64url. */
  readonly credentialId: string
  /** COSE, in base64url. */
  readonly publicKey: string
  readonly counter: number
  readonly transports: readonly string[]
}

/** EdDSA, ES256 and RS256, which all authenticators have. */
const ALGORITHMS = [-8, -7, -257]
const MAX_TRANSPORTS = 10
const MAX_TRANSPORT = 30

export async function registrationOptions(
  { id }: RelyingParty,
  user: { readonly id: Buffer; readonly email: string; readonly name: string },
  present: readonly StoredPasskey[],
): Promise<{ readonly challenge: string; readonly options: object }> {
  const options = await generateRegistrationOptions({
    rpName: id,
    rpID: id,
    userID: new Uint8Array(user.id),
    userName: user.email,
    userDisplayName: user.name,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: present.map(describe),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
  })
  return { challenge: options.challenge, options }
}

/** Null if the response does not prove a new passkey for this challenge and place. */
export async function checkRegistration(
  { id, origin }: RelyingParty,
  challenge: string,
  response: object,
): Promise<StoredPasskey | null> {
  try {
    const checked = await verifyRegistrationResponse({
      response: response as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (!checked.verified) return null
    const { credential } = checked.registrationInfo
    return {
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: (credential.transports ?? []).slice(0, MAX_TRANSPORTS).map((one) => one.slice(0, MAX_TRANSPORT)),
    }
  } catch {
    return null // the library throws for whatever is wrong with the response
  }
}

/** `allowed` is empty for a login without a name: the authenticator offers its passkeys of this place. */
export async function authenticationOptions(
  { id }: RelyingParty,
  allowed: readonly StoredPasskey[],
): Promise<{ readonly challenge: string; readonly options: object }> {
  const options = await generateAuthenticationOptions({
    rpID: id,
    userVerification: 'required',
    allowCredentials: allowed.map(describe),
  })
  return { challenge: options.challenge, options }
}

/** The new counter; null if the response is not that of this passkey for this challenge and place. */
export async function checkAuthentication(
  { id, origin }: RelyingParty,
  challenge: string,
  response: object,
  passkey: StoredPasskey,
): Promise<number | null> {
  try {
    const checked = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      credential: {
        id: passkey.credentialId,
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
        counter: passkey.counter,
      },
    })
    return checked.verified ? checked.authenticationInfo.newCounter : null
  } catch {
    return null
  }
}

function describe(passkey: StoredPasskey): { id: string; transports: AuthenticatorTransport[] } {
  return { id: passkey.credentialId, transports: [...passkey.transports] as AuthenticatorTransport[] }
}
