/**
 * Where a sending domain belongs, chosen when it is added and kept for life. Each region names the egress pool (src/egress/pools.ts) that its
 * mail leaves by, where neither the domain nor its workspace was given another. A pool without sources is as that of the default region.
 */
interface RegionRow {
  readonly place: string
  readonly pool: string
}

export const REGIONS = {
  'us-east-1': { place: 'North America, east', pool: 'us-east' },
  'ap-southeast-1': { place: 'Asia Pacific, south-east', pool: 'ap-southeast' },
  'af-south-1': { place: 'Africa, south', pool: 'af-south' },
} as const satisfies Record<string, RegionRow>

export type Region = keyof typeof REGIONS

export const REGION_NAMES = Object.keys(REGIONS) as readonly Region[]

/** What a domain gets that asks for none. */
export const DEFAULT_REGION: Region = 'us-east-1'
