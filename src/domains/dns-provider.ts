/** Recognises who runs the zone of a domain by the names of its name servers. Pure. */
import { getDomain } from 'tldts'
import { sanitizeText } from './record-finding.ts'

/** Suffixes of name server names. */
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

/** The provider's name; for an unknown one, the domain of its name servers. Null without name servers. */
export function providerOf(nameServers: readonly string[]): string | null {
  const known = PROVIDERS.find(([, pattern]) => nameServers.some((name) => pattern.test(name)))
  if (known !== undefined) return known[0]
  const [first] = nameServers.toSorted()
  return first === undefined ? null : sanitizeText(getDomain(first) ?? first)
}
