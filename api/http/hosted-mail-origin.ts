/**
 * The origin of hosted mail. Its HTML comes from customers, so the operator can give it a host name of its own
 * (HOSTED_MAIL_URL): that host serves nothing else, and no other host serves hosted mail. A proxy in front must pass
 * the Host header.
 */
import type { Config } from '#config/load.ts'

type HostConfig = Pick<Config, 'hostedMailUrl' | 'publicUrl' | 'trackingUrl' | 'subscribeBaseUrl'>

/** The paths of hosted mail. */
const HOSTED_PATH = /^\/v\//

/** As in a Host header; null if hosted mail has no host of its own. */
export function hostedMailHost({ hostedMailUrl, publicUrl, trackingUrl, subscribeBaseUrl }: HostConfig): string | null {
  if (hostedMailUrl === null) return null
  const { host } = new URL(hostedMailUrl)
  return [publicUrl, trackingUrl, subscribeBaseUrl].some((url) => new URL(url).host === host) ? null : host
}

/** Whether the host of a request serves this path. */
export function isServedByHost(hostedHost: string | null, host: string | undefined, path: string): boolean {
  return hostedHost === null || host?.toLowerCase() !== hostedHost || HOSTED_PATH.test(path)
}
