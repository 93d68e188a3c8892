/**
 * Regions of sending domains. A domain's region is chosen when the domain is added and never changes. Each region names
 * the egress pool (src/egress/pools.ts) for its mail, unless the domain or its workspace has a pool of its own. A pool
 * without sources falls back to the pool of the default region.
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

/** Of a domain that is added without a region. */
export const DEFAULT_REGION: Region = 'us-east-1'
