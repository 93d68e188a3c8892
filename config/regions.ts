/**
 * Where a sending domain belongs, chosen when it is added and kept for life. Each region names the egress pool (a set of outgoing
 * addresses) that its mail is meant for. While there is one pool, all regions leave from the same addresses.
 */
interface RegionRow {
  readonly place: string
  readonly pool: string
}

export const REGIONS = {
  'us-east-1':      { place: 'North America, east', pool: 'us-east' },
  'ap-southeast-1': { place: 'Asia Pacific, south-east', pool: 'ap-southeast' },
  'af-south-1':     { place: 'Africa, south', pool: 'af-south' },
} as const satisfies Record<string, RegionRow>

export type Region = keyof typeof REGIONS

export const REGION_NAMES = Object.keys(REGIONS) as readonly Region[]

/** What a domain gets that asks for none. */
export const DEFAULT_REGION: Region = 'us-east-1'
