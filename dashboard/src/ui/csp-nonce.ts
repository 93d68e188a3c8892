/**
 * The page's policy permits only style sheets with the nonce of this response. Radix adds one while a dialog locks the
 * page's scrolling (through get-nonce, which reads `__webpack_nonce__`), and one to the list of a select.
 */
declare global {
  // the name that get-nonce reads
  // oxlint-disable-next-line no-underscore-dangle
  var __webpack_nonce__: string | undefined
}

export function readCspNonce(): string | undefined {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content
}

/** Call once, before the first render. */
export function applyCspNonce(): void {
  // oxlint-disable-next-line no-underscore-dangle
  globalThis.__webpack_nonce__ = readCspNonce()
}
