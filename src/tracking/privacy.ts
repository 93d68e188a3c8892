/** Masks IP addresses for storage: full; truncated to the network (IPv4 /24, IPv6 /48); or none. */
import ipaddr from 'ipaddr.js'
import type { Privacy } from './settings.ts'

const PREFIX_BYTES = { ipv4: 3, ipv6: 6 } as const

export function maskAddress(address: string, privacy: Privacy): string | null {
  if (privacy === 'none' || !ipaddr.isValid(address)) return null
  const ip = ipaddr.process(address)
  if (privacy === 'full') return ip.toString()
  const bytes = ip.toByteArray()
  return ipaddr.fromByteArray(bytes.fill(0, PREFIX_BYTES[ip.kind()])).toString()
}
