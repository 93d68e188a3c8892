/**
 * Checks where the HTML of customers is shown. On the host of the API it is sandboxed, but browsers and blocklists
 * judge a host name by its worst page.
 */
import type { Config } from '#config/load.ts'
import { type DoctorCheck, type DoctorFinding, ok, warning } from './check.ts'

export const HOSTED_MAIL: DoctorCheck = {
  name: 'hosted mail',
  run: ({ config }) => Promise.resolve(checkHostedMail(config)),
}

type HostConfig = Pick<Config, 'isSandbox' | 'hostedMailUrl' | 'publicUrl' | 'trackingUrl' | 'subscribeBaseUrl'>

export function checkHostedMail(config: HostConfig): DoctorFinding {
  const { hostedMailUrl, publicUrl, trackingUrl, subscribeBaseUrl } = config
  if (config.isSandbox) return ok('shown on the host of the API, sandboxed: no mail leaves this machine')
  if (hostedMailUrl === null)
    return warning(
      `"view in browser" shows customers' HTML on ${new URL(trackingUrl).host}, sandboxed (Content-Security-Policy)`,
      'set HOSTED_MAIL_URL to a host name of its own, best in another registered domain',
    )
  const { host } = new URL(hostedMailUrl)
  const shared = Object.entries({
    PUBLIC_URL: publicUrl,
    TRACKING_URL: trackingUrl,
    SUBSCRIBE_BASE_URL: subscribeBaseUrl,
  })
    .filter(([, url]) => new URL(url).host === host)
    .map(([name]) => name)
  if (shared.length > 0)
    return warning(
      `HOSTED_MAIL_URL has the host of ${shared.join(' and ')} (${host}): hosted mail has no origin of its own`,
      'set HOSTED_MAIL_URL to a host name that nothing else uses',
    )
  return ok(`shown on ${host}, which serves nothing else`)
}
