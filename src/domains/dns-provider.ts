/** Who runs the zone of a domain, told by the names of its name servers. Pure. */
import { getDomain } from 'tldts'
import { tame } from './record-finding.ts'

/** By how the name of a name server ends. */
const PROVIDERS: readonly (readonly [provider: string, pattern: RegExp])[] = [
  ['Cloudflare', /\.ns\.cloudflare\.com$|\.cloudflare\.net$/],
  ['Amazon Route 53', /\.awsdns-\d+\.(?:com|net|org|co\.uk)$/],
  ['Google Cloud DNS', /\.googledomains\.com$|\.google\.com$/],
  ['Azure DNS', /\.azure-dns\.(?:com|net|org|info)$/],
  ['GoDaddy', /\.domaincontrol\.com$/],
  ['Namecheap', /\.registrar-servers\.com$/],
  ['DigitalOcean', /\.digitalocean\.com$/],
  ['Vercel', /\.vercel-dns\.com$/],
  ['Netlify (NS1)', /\.nsone\.net$/],
  ['Hetzner', /\.(?:ns\.hetzner\.com|first-ns\.de|second-ns\.(?:de|com))$/],
  ['OVHcloud', /\.ovh\.net$|\.anycast\.me$/],
  ['Gandi', /\.gandi\.net$/],
  ['IONOS', /\.ui-dns\.(?:com|de|org|biz)$/],
  ['DNSimple', /\.dnsimple(?:-edge)?\.(?:com|net|org|io)$/],
  ['DNS Made Easy', /\.dnsmadeeasy\.com$/],
  ['Porkbun', /\.porkbun\.com$/],
  ['Squarespace', /\.squarespacedns\.com$/],
  ['Wix', /\.wixdns\.net$/],
  ['Linode', /\.linode\.com$/],
  ['Hostinger', /\.(?:dns-parking|hostinger)\.com$/],
  ['Bluehost', /\.bluehost\.com$/],
  ['deSEC', /\.desec\.(?:io|org)$/],
]

/** The provider's name; of one that is not in the table, the domain of its name servers. Null without name servers. */
export function providerOf(nameServers: readonly string[]): string | null {
  const known = PROVIDERS.find(([, pattern]) => nameServers.some((name) => pattern.test(name)))
  if (known !== undefined) return known[0]
  const [first] = nameServers.toSorted()
  return first === undefined ? null : tame(getDomain(first) ?? first)
}
