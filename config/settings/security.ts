/** Secrets, API keys and the networks that outgoing connections may reach. */
import { cidrs, lowerCaseLetters, text, token } from './readers.ts'
import { optional, setting } from './setting.ts'

export const securitySettings = {
  masterKey: optional({
    env: 'MASTER_KEY',
    read: text,
    description:
      'Key that encrypts stored keys and secrets: 32 bytes in hex or base64. Must be the same on every machine. ' +
      'More keys may follow, separated by spaces or lines: they only decrypt. ' +
      'If it is not set, a key is generated in `DATA_DIR`.',
    guide: 'operations',
  }),
  masterKeyCommand: optional({
    env: 'MASTER_KEY_COMMAND',
    read: text,
    description:
      'Shell command that prints the keys of `MASTER_KEY`, for a key management service. Each process runs it once, ' +
      'when it starts, and waits at most 30 seconds. Not together with `MASTER_KEY`.',
    guide: 'operations',
  }),
  adminToken: optional({
    env: 'ADMIN_TOKEN',
    read: token,
    description:
      "Token of the operator's endpoints, in plain text or as `sha256:<hash in hex>`. " +
      'Must be the same on every machine that runs the api. If it is not set, it is generated in `DATA_DIR`.',
    guide: 'operations',
  }),
  keyPrefix: optional({
    env: 'KEY_PREFIX',
    read: lowerCaseLetters,
    description:
      'Prefix of every API key: 1 to 32 lower-case letters. The first start stores it, by default `ms`; later, ' +
      'another one is an error, and if it is not set, the stored one applies.',
  }),
  allowPrivateTargets: setting({
    env: 'ALLOW_PRIVATE_TARGETS',
    read: cidrs,
    default: '',
    description: 'Private or loopback networks that webhooks and mail may reach, as a comma-separated list.',
    guide: 'api-security',
  }),
}
