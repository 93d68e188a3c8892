/** DNS resolvers, the zone of DKIM keys, and domain registration data. */
import { choice, countOrZero, dnsName, dnsServers, seconds, text, urlOrNone } from './readers.ts'
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
  dkimZone: optional({
    env: 'DKIM_ZONE',
    read: dnsName,
    description:
      'Zone of yours that holds the DKIM keys of sending domains, such as `dkim.mail.example.net`. New domains then ' +
      'point to it by CNAME, and their keys are replaced without work of their owners. ' +
      'If it is not set, owners publish each key as a TXT record.',
    guide: 'dkim-rotation',
  }),
  dkimZoneCommand: optional({
    env: 'DKIM_ZONE_COMMAND',
    read: text,
    description:
      'Shell command that publishes changes of `DKIM_ZONE`. It reads a line for each change: `set NAME TTL "VALUE"…` ' +
      'or `remove NAME`. The worker runs it, waits at most 30 seconds, and repeats it while it fails. If it is not ' +
      'set, publish what `mailstead domain zone` prints.',
    guide: 'dkim-rotation',
  }),
  dkimZoneTtlSeconds: setting({
    env: 'DKIM_ZONE_TTL_SECONDS',
    read: seconds,
    default: '300',
    unit: 's',
    description:
      'TTL of the records in `DKIM_ZONE`. A new key signs once it has been in DNS for twice this time, at least ' +
      '10 minutes. Give the SOA record of the zone a minimum that is not longer.',
    guide: 'dkim-rotation',
  }),
  dkimRotationDays: setting({
    env: 'DKIM_ROTATION_DAYS',
    read: countOrZero,
    default: '180',
    unit: 'days',
    description:
      'Age at which DKIM keys are replaced. The worker replaces those in `DKIM_ZONE`; for keys that owners publish ' +
      'by hand, a notice says so. `0` replaces none and gives no notice.',
    guide: 'dkim-rotation',
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
