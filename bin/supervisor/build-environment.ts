import { environment } from '#config/environment.ts'

/**
 * The environment of processes that bundle code. The allocator of rolldown and Vite (mimalloc) would ask for pages of
 * 2 MB and use a part of each: 1.1 GB of memory instead of 0.8, all of which the kernel has to clear.
 */
export const BUILD_ENVIRONMENT = { MIMALLOC_ALLOW_THP: '0', ...environment }
