/** DNS resolvers and domain registration data. */
import { choice, dnsServers, seconds, urlOrNone } from './readers.ts'
import { optional, setting } from './setting.ts'

export const dnsSettings = {
  dnsServers: optional({
    env: 'DNS_SERVERS',
    read: dnsServers,
    description: "Resolvers, as `ip:port,ip:port`. If it is not set, the system's resolvers.",
  }),
  dnssecResolver: setting({
    env: 'DNSSEC_RESOLVER',
    read: choice('yes', 'no'),
    default: 'no',
    description:
      'Set to `yes` if the resolvers validate DNSSEC and the path to them is secure, for example on this machine. ' +
      'Mailstead then trusts their validation and uses DANE.',
    guide: 'transport-security',
  }),
  dnsMxCacheSeconds: setting({
    env: 'DNS_MX_CACHE_SECONDS',
    read: seconds,
    default: '3600',
    unit: 's',
    description: 'The longest time that MX records are cached. Within it they are cached for their TTL, at least 30 s.',
  }),
  rdapUrl: setting({
    env: 'RDAP_URL',
    read: urlOrNone,
    default: 'https://rdap.org/domain',
    description:
      'RDAP service that is asked for the registrar of a sending domain; the domain is appended. ' +
      '`none` switches the query off.',
    guide: 'sending-domains',
  }),
}
