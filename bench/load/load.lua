-- wrk's side of load.ts. Arguments: the method, the body ('' for none), then the paths to ask for in turn.
local requests = {}
local turn = 0

local function next_request()
  turn = turn % #requests + 1
  return requests[turn]
end

-- A different text in each body: neighbours in time are far apart in order.
local count = 0
local function spread_request()
  count = count + 1
  local text = string.format('%04x %d', count * 40503 % 65536, count)
  return wrk.format(nil, nil, nil, (wrk.body:gsub('{spread}', text)))
end

-- The next number, or one spread over a range.
local function numbered(text)
  local spread = text:gsub('{id%%(%d+)}', function(range) return string.format('%d', count * 104729 % tonumber(range) + 1) end)
  return (spread:gsub('{id}', count))
end

-- Another path in each request: no list is requested twice soon, so none is kept in memory.
local function numbered_request()
  count = count + 1
  return wrk.format(nil, numbered(wrk.path))
end

-- The same with another token in each request.
local function users_request()
  count = count + 1
  return wrk.format(nil, numbered(wrk.path), { authorization = numbered(wrk.headers.authorization) })
end

function init(args)
  wrk.method = args[1]
  if args[2] ~= '' then
    wrk.body = args[2]
    wrk.headers['content-type'] = 'application/json'
  end
  for i = 3, #args do requests[#requests + 1] = wrk.format(nil, args[i]) end
  -- wrk sends a request that never changes without asking Lua for it, which costs it less.
  if #requests > 1 then request = next_request else wrk.path = args[3] end
  if args[3]:find('{id', 1, true) then request = numbered_request end
  if (wrk.headers.authorization or ''):find('{id%', 1, true) then request = users_request end
  if args[2]:find('{spread}', 1, true) then request = spread_request end
end

function done(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"failures":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    failed.status + failed.connect + failed.read + failed.write + failed.timeout
  ))
end
