/** Every endpoint of the API, one line each. What an endpoint is stands in its file in `routes/`. */
import type { AnyRoute } from './route.ts'
import { healthz, metrics, readyz } from './routes/health.ts'

export const ROUTES: readonly AnyRoute[] = [
  healthz, readyz, metrics,
]
