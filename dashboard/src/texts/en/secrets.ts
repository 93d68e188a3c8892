/** Secrets that are shown once. */
export const secrets = {
  done: 'I have stored it',
  once: 'Copy it now',
  onceText: 'It is shown only this once. Store it in a password manager or in the secrets of your application.',
}
