/** Secrets, API keys and the networks that outgoing connections may reach. */
import { cidrs, lowerCaseLetters, text, token } from './readers.ts'
import { optional, setting } from './setting.ts'

export const securitySettings = {
  masterKey: optional({
    env: 'MASTER_KEY',
    read: text,
    description:
      'Key that encrypts stored keys and secrets: 32 bytes in hex or base64. Must be the same on every machine. ' +
      'If it is not set, it is generated in `DATA_DIR`.',
  }),
  adminToken: optional({
    env: 'ADMIN_TOKEN',
    read: token,
    description:
      "Token of the operator's endpoints, in plain text or as `sha256:<hash in hex>`. " +
      'Must be the same on every machine that runs the api. If it is not set, it is generated in `DATA_DIR`.',
    guide: 'operations',
  }),
  keyPrefix: setting({
    env: 'KEY_PREFIX',
    read: lowerCaseLetters,
    default: 'ms',
    description: 'Prefix of every API key: 1 to 32 lower-case letters.',
  }),
  allowPrivateTargets: setting({
    env: 'ALLOW_PRIVATE_TARGETS',
    read: cidrs,
    default: '',
    description: 'Private or loopback networks that webhooks and mail may reach, as a comma-separated list.',
    guide: 'api-security',
  }),
}
