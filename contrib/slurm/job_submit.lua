-- SPDX-License-Identifier: GPL-3.0-or-later
-- Slurm's job_submit/lua: a job with --comment=image=REPO:TAG gets nodes that run the image, all with the same
-- build. JobSubmitPlugins=lua in slurm.conf, this file beside it. What to adapt:
local VARIANTCTL = "/usr/bin/variantctl"
-- what `sinfo -ho %f` prints, written by a timer: sinfo cannot be asked from in here, where slurmctld waits
local FEATURES = "/etc/slurm/ocivariant.features"
local OPTIONS = "" -- "--short": where nodes have short features
-- slurmctld takes no other request meanwhile
local SECONDS = 2

-- A name that a shell reads as one plain word: nothing else reaches it. "%w" depends on the locale.
local NAME = "^image=([A-Za-z0-9][A-Za-z0-9._/:@-]*)$"
local NAME_MAX = 512
local WHY_MAX = 400

local function image_of(comment)
    if type(comment) ~= "string" or #comment > NAME_MAX then return nil end
    return string.match(comment, NAME)
end

-- Lua 5.1 cannot see an exit status, so what counts is the output: the constraint, or what variantctl says went wrong.
local function constraint_of(image)
    local pipe = io.popen("timeout -k 1 " .. SECONDS .. " " .. VARIANTCTL .. " claim --for slurm " .. OPTIONS ..
        " --features-file " .. FEATURES .. " -- " .. image .. " 2>&1 </dev/null", "r")
    if not pipe then return nil end
    local constraint, why
    for line in pipe:lines() do
        constraint = constraint or string.match(line, "^%-%-constraint=([A-Za-z0-9_.:&|()%[%]]+)$")
        if not string.match(line, "^variantctl: warning:") then why = why or string.match(line, "^variantctl: (.+)$") end
    end
    pipe:close()
    return constraint, why and string.gsub(string.sub(why, 1, WHY_MAX), "[^%w%p ]", "?")
end

function slurm_job_submit(job, partitions, uid)
    local comment = job.comment
    if type(comment) ~= "string" or string.sub(comment, 1, 6) ~= "image=" then return slurm.SUCCESS end
    local image = image_of(comment)
    if not image then
        slurm.log_user("--comment=image=...: not the name of an image")
        return slurm.ERROR
    end
    if job.features and job.features ~= "" then return slurm.SUCCESS end -- the user's own constraint
    local constraint, why = constraint_of(image)
    if not constraint then
        if why then slurm.log_user("%s", why) end
        slurm.log_user("%s: no constraint: try  variantctl claim --for slurm --features \"$(sinfo -ho %%f)\" %s",
            image, image)
        return slurm.ERROR
    end
    job.features = constraint
    slurm.log_user("%s: --constraint=%s", image, constraint)
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
