/** Asks the browser for a passkey, with the JSON forms of WebAuthn that the API reads and writes. */

/** Whether this browser has what the API needs. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential
}

/** @throws an error of the browser, such as NotAllowedError when the person cancels. */
export async function requestPasskey(options: object): Promise<{ readonly id: string }> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)
  return toJson(await navigator.credentials.get({ publicKey }))
}

/** The same for a new passkey. */
export async function createPasskey(options: object): Promise<{ readonly id: string }> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON)
  return toJson(await navigator.credentials.create({ publicKey }))
}

function toJson(credential: Credential | null): { readonly id: string } {
  if (!(credential instanceof PublicKeyCredential)) throw new DOMException('no passkey', 'NotAllowedError')
  return credential.toJSON()
}
