/** The REST API and the public pages. */
import { boolean, challengeBits, count, port, proxies, text, url } from './readers.ts'
import { optional, setting } from './setting.ts'

export const apiSettings = {
  httpPort: setting({
    env: 'HTTP_PORT',
    read: port,
    default: '3000',
    description: 'Port of the REST API and pages.',
  }),
  httpHost: optional({
    env: 'HTTP_HOST',
    read: text,
    description: 'Address that `HTTP_PORT` listens on. If it is not set, all addresses.',
  }),
  httpsPort: optional({
    env: 'HTTPS_PORT',
    read: port,
    description:
      'Port of the same API and pages over TLS, usually 443. The certificates are requested automatically ' +
      '(`ACME_CHALLENGE`), or `TLS_CERT_FILE` is used. If it is not set, a proxy in front has to provide TLS.',
    guide: 'certificates',
  }),
  httpsHost: optional({
    env: 'HTTPS_HOST',
    read: text,
    description:
      'Address that `HTTPS_PORT` and `HTTP_REDIRECT_PORT` listen on, such as `0.0.0.0`. If it is not set, that of ' +
      '`HTTP_HOST`.',
    guide: 'certificates',
  }),
  httpRedirectPort: optional({
    env: 'HTTP_REDIRECT_PORT',
    read: port,
    description:
      'Port, usually 80, that redirects browsers to https and answers challenges of the authority. ' +
      'If it is not set, none.',
    guide: 'certificates',
  }),
  publicUrl: optional({
    env: 'PUBLIC_URL',
    read: url,
    description: 'URL at which clients reach the API. If it is not set, `http://localhost:HTTP_PORT`.',
  }),
  subscribeBaseUrl: optional({
    env: 'SUBSCRIBE_BASE_URL',
    read: url,
    description: 'URL at which the public subscribe forms (`/s/…`) are reached. If it is not set, `PUBLIC_URL`.',
    guide: 'subscribe-form',
  }),
  trustProxy: setting({
    env: 'TRUST_PROXY',
    read: proxies,
    default: 'false',
    description:
      'Proxies whose `X-Forwarded-For` is trusted: `true` for one proxy in front, a number for that many, ' +
      'or the networks of the proxies.',
    guide: 'api-security',
  }),
  accessLog: setting({
    env: 'ACCESS_LOG',
    read: boolean,
    default: 'true',
    description:
      'Whether the api logs a line for each HTTP request (`"msg":"request"`). The line has no query and no token.',
    guide: 'operations',
  }),
  subscribesPerNetwork: setting({
    env: 'SUBSCRIBES_PER_NETWORK',
    read: count,
    default: '60',
    unit: 'per 10 minutes',
    description:
      'Posts to public forms that are accepted from one IPv4 address or IPv6 /64. ' +
      'Raise it if a site posts on behalf of its visitors.',
    guide: 'subscribe-form',
  }),
  subscribesPerAudience: setting({
    env: 'SUBSCRIBES_PER_AUDIENCE',
    read: count,
    default: '5000',
    unit: 'per day',
    description: 'Submissions that the public form of one audience accepts.',
    guide: 'subscribe-form',
  }),
  subscribesPerWorkspace: setting({
    env: 'SUBSCRIBES_PER_WORKSPACE',
    read: count,
    default: '20000',
    unit: 'per day',
    description: 'Submissions that all public forms of one workspace accept.',
    guide: 'subscribe-form',
  }),
  subscribeGrowthFactor: setting({
    env: 'SUBSCRIBE_GROWTH_FACTOR',
    read: count,
    default: '10',
    description:
      'A form stops for the day at this many times its daily mean of the two weeks before, and the operator gets a ' +
      'notice. Below `SUBSCRIBE_GROWTH_MINIMUM` it does not stop.',
    guide: 'subscribe-form',
  }),
  subscribeGrowthMinimum: setting({
    env: 'SUBSCRIBE_GROWTH_MINIMUM',
    read: count,
    default: '500',
    unit: 'per day',
    description: 'Submissions of one form that never count as unusual growth.',
    guide: 'subscribe-form',
  }),
  subscribeChallengeBits: setting({
    env: 'SUBSCRIBE_CHALLENGE_BITS',
    read: challengeBits,
    default: '0',
    unit: 'bits',
    description:
      'Proof of work that a submission of a public form needs: each bit doubles it, and 18 take a browser about a ' +
      'second. `0` needs none.',
    guide: 'subscribe-form',
  }),
}
